#include "config/load_yaml.hpp"
#include "config/settings_access.hpp"
#include "config/yaml/study_reader.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

namespace {

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

}  // namespace

Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    YamlText yaml(file.string());
    StudyFile study = read_study(yaml, yaml.parse(read_yaml_file(file)));
    set_paths_beside(file.parent_path(), study);
    if (!file.stem().string().starts_with('.')) study.name = file.stem().string();
    Assignments replacements;
    for (const std::string& text : overrides) replacements.push_back(parse_override(text));
    Config config = expand_study(study, replacements);
    config.file = file.string();
    return config;
}

}  // namespace pb
