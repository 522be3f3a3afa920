#include "base/mapped.hpp"
#include "config/load_yaml.hpp"
#include "config/settings_access.hpp"
#include "config/yaml/yaml_text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace pb::config {

namespace {

/// What was read from one map: its settings, groups and presets.
struct MapRead {
    YamlText::Seen seen;
    GroupText text;
    std::optional<YAML::Node> groups, presets;
};

class StudyReader {
  public:
    /// Relative paths are those in `folder`.
    StudyReader(YamlText& yaml, std::filesystem::path folder) : yaml_(yaml), folder_(std::move(folder)) {}

    StudyFile file(const YAML::Node& root) {
        if (!root.IsMap()) yaml_.fail(root.Mark(), "a study must be a map of settings (`patch: 256`)");
        MapRead read;
        read_map(root, Level::file, read);
        StudyFile file{study(read), {}};
        if (read.presets) file.presets = read_presets(*read.presets);
        return file;
    }

  private:
    /// Which words a map may have beside settings: a file all, a preset no `presets`, a group no `groups` either, an
    /// exclusion and a `zip` settings only.
    enum class Level { file, preset, group, settings };

    StudyText study(const MapRead& read) {
        StudyText study{read.text, {}};
        if (read.groups) study.groups = read_groups(*read.groups);
        return study;
    }

    void read_map(const YAML::Node& map, Level level, MapRead& read) {
        for (const auto& entry : map) {
            const std::string key = yaml_.key_of(entry.first, "", read.seen);
            if (key == "groups" && level <= Level::preset)
                read.groups.emplace(entry.second);
            else if (key == "presets" && level == Level::file)
                read.presets.emplace(entry.second);
            else if (key == "zip" && level <= Level::group)
                read_zips(entry.second, read);
            else if (key == "exclude" && level <= Level::group)
                read.text.exclusions = read_exclusions(entry.second);
            else
                read_setting(key, entry.first, entry.second, read);
        }
    }

    /// `image: {height: 64}` is image.height: 64.
    void read_setting(const std::string& key, const YAML::Node& key_node, const YAML::Node& value, MapRead& read) {
        if (is_key_group(key) && value.IsMap()) {
            for (const auto& entry : value) {
                const std::string member = yaml_.key_of(entry.first, key + ".", read.seen);
                add_setting(member, entry.first, entry.second, read);
            }
        } else {
            add_setting(key, key_node, value, read);
        }
    }

    void add_setting(const std::string& key, const YAML::Node& key_node, const YAML::Node& value, MapRead& read) {
        if (!is_point_key(key) && !is_study_key(key)) yaml_.fail(key_node.Mark(), unknown_key(key));
        resolve_paths(folder_, read.text.settings.emplace_back(yaml_.assignment(key, key_node, value)));
    }

    /// One map of lists, or a list of such maps.
    void read_zips(const YAML::Node& zips, MapRead& read) {
        if (zips.IsMap()) return read_zip(zips, read);
        if (!zips.IsSequence() || zips.size() == 0)
            yaml_.fail(zips.Mark(),
                       "zip: must be a map of lists that go together (`zip: {patch: [64, 128], halo: [8, 16]}`)");
        for (const YAML::Node& zip : zips) {
            if (!zip.IsMap())
                yaml_.fail(zip.Mark(), "zip: each entry must be a map of lists (`- {patch: [..], halo: [..]}`)");
            read_zip(zip, read);
        }
    }

    void read_zip(const YAML::Node& zip, MapRead& read) {
        auto& settings = read.text.settings;
        const size_t first = settings.size();
        read_map(zip, Level::settings, read);
        if (settings.size() < first + 2) yaml_.fail(zip.Mark(), "zip: needs two settings or more that go together");
        ++num_zips_;
        for (size_t i = first; i < settings.size(); ++i) {
            settings[i].zip = num_zips_;
            if (settings[i].values.size() == settings[first].values.size()) continue;
            yaml_.fail(zip.Mark(),
                       fmt::format("zip: {} has {} values and {} {}: they must have as many", settings[first].key,
                                   settings[first].values.size(), settings[i].key, settings[i].values.size()));
        }
    }

    std::vector<Exclusion> read_exclusions(const YAML::Node& exclusions) {
        if (!exclusions.IsSequence())
            yaml_.fail(exclusions.Mark(),
                       "exclude: must be a list of maps (`exclude: [{patch: 512, batch: [8, 16]}]`)");
        std::vector<Exclusion> all;
        for (const YAML::Node& exclusion : exclusions) {
            if (!exclusion.IsMap() || exclusion.size() == 0)
                yaml_.fail(exclusion.Mark(),
                           "exclude: each entry must be a map of settings (`- {patch: 512, batch: 16}`)");
            MapRead read;
            read_map(exclusion, Level::settings, read);
            all.push_back({yaml_.place(exclusion.Mark()), std::move(read.text.settings)});
        }
        return all;
    }

    std::vector<GroupText> read_groups(const YAML::Node& groups) {
        if (!groups.IsSequence())
            yaml_.fail(groups.Mark(), "groups: must be a list of maps (`groups:`, then `- {patch: 128}`)");
        if (groups.size() == 0)
            yaml_.fail(groups.Mark(), "groups: the list is empty; leave the key out for a study without groups");
        std::vector<GroupText> all;
        for (const YAML::Node& group : groups) {
            if (!group.IsMap())
                yaml_.fail(group.Mark(), "groups: each entry must be a map of settings (`- {patch: 128}`)");
            MapRead read;
            read_map(group, Level::group, read);
            all.push_back(std::move(read.text));
        }
        return all;
    }

    std::vector<PresetText> read_presets(const YAML::Node& presets) {
        if (!presets.IsMap())
            yaml_.fail(presets.Mark(), "presets: must be a map of names (`presets: {quick: {patch: 64}}`)");
        std::vector<PresetText> all;
        YamlText::Seen names;
        for (const auto& entry : presets) {
            const std::string name = yaml_.key_of(entry.first, "", names);
            if (!entry.second.IsMap())
                yaml_.fail(entry.second.Mark(), "presets, " + name + ": must be a map of settings (`{patch: 64}`)");
            MapRead read;
            read_map(entry.second, Level::preset, read);
            all.push_back({name, study(read)});
        }
        return all;
    }

    YamlText& yaml_;
    std::filesystem::path folder_;
    int num_zips_ = 0;
};

/// "key=value" as an assignment. Lists and ranges are written as in YAML: patch=[64, 128].
Assignment parse_override(const std::string& text) {
    YamlText yaml("--set " + text);
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--set " + text + ": must be key=value");
    const std::string key = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const Place place{std::make_shared<const std::string>("--set " + text), 0, 0};
    if (!is_point_key(key) && !is_study_key(key)) throw UsageError(place.text() + ": " + unknown_key(key));
    if (!value.starts_with('[') && !value.starts_with('{')) return {key, place, false, {{value, place}}};
    Assignment read = yaml.assignment(key, YAML::Node(), yaml.parse(value));
    read.place = place;
    for (PlacedText& item : read.values) item.place = place;
    return read;
}

StudyFile read_study(const std::filesystem::path& file) {
    YamlText yaml(file.string());
    return StudyReader(yaml, file.parent_path()).file(yaml.parse(read_yaml_file(file)));
}

}  // namespace

Assignments load_stated(const std::filesystem::path& file) {
    StudyFile study = read_study(file);
    const bool is_one = study.study.groups.empty() && study.presets.empty();
    if (!is_one || expand_study(study, {}).points.size() > 1)
        throw UsageError(file.string() +
                         ": holds several points; take one: a map of settings without lists, groups and "
                         "presets, as patchbench tune writes");
    return study.study.top.settings;
}

Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    StudyFile study = read_study(file);
    if (!file.stem().string().starts_with('.')) study.name = file.stem().string();
    Config config = expand_study(study, mapped(overrides, parse_override));
    config.file = file.string();
    return config;
}

}  // namespace pb::config
