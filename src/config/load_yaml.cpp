#include "patchbench/config/load_yaml.hpp"

#include "config/study_text.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/config/by_key.hpp"
#include "patchbench/config/text.hpp"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

namespace pb {

namespace {

// Bounds against hostile files: aliases can make a small file stand for a huge one.
constexpr size_t kMaxFileBytes = 1 << 20;
constexpr size_t kMaxTextBytes = 4096;
constexpr int64_t kMaxValues = 200'000;

bool is_printable(const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

/// Walks the nodes of one document, knowing its name.
class YamlText {
  public:
    explicit YamlText(std::string name) : origin_(std::make_shared<const std::string>(std::move(name))) {}

    /// The only document of `text`; throws UsageError for syntax errors, no document and more than one.
    [[nodiscard]] YAML::Node parse(const std::string& text) const;

    [[nodiscard]] StudyText study(const YAML::Node& root);
    [[nodiscard]] std::vector<ModelWeights> model_card(const YAML::Node& root);

    /// Text and place of a scalar; throws for null, a list, a map.
    [[nodiscard]] PlacedText scalar(const YAML::Node& node, const std::string& key);
    [[nodiscard]] Assignment assignment(const std::string& key, const YAML::Node& key_node, const YAML::Node& value);

  private:
    using Seen = std::map<std::string, int>;  // key to the line it was written on
    struct MapRead {
        Seen seen;
        Assignments assignments;
    };

    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const {
        throw UsageError(place(mark).text() + ": " + message);
    }
    [[nodiscard]] Place place(const YAML::Mark& mark) const {
        return mark.is_null() ? Place{origin_, 0, 0} : Place{origin_, mark.line + 1, mark.column + 1};
    }
    [[nodiscard]] std::string key_of(const YAML::Node& node, const std::string& prefix, Seen& seen);
    /// Settings in a map, nested keys written dotted; keeps `groups` apart where it is legal (`groups` not null).
    void read_map(const YAML::Node& map, const std::string& prefix, MapRead& read, std::optional<YAML::Node>* groups);
    [[nodiscard]] std::vector<Assignments> read_groups(const YAML::Node& groups);
    [[nodiscard]] ModelWeights model_weights(const YAML::Node& entry);

    std::shared_ptr<const std::string> origin_;
    int64_t values_left_ = kMaxValues;
};

YAML::Node YamlText::parse(const std::string& text) const {
    std::vector<YAML::Node> documents;
    try {
        documents = YAML::LoadAll(text);
    } catch (const YAML::DeepRecursion& error) {
        fail(error.mark, "nested too deeply");
    } catch (const YAML::Exception& error) {
        fail(error.mark, "not valid YAML: " + error.msg);
    }
    if (documents.empty() || documents.front().IsNull()) throw UsageError(*origin_ + ": the file is empty");
    if (documents.size() > 1) fail(documents[1].Mark(), "a second document (---): one study a file");
    return documents.front();
}

PlacedText YamlText::scalar(const YAML::Node& node, const std::string& key) {
    if (--values_left_ < 0) throw UsageError(*origin_ + ": more than " + std::to_string(kMaxValues) + " values");
    if (node.IsNull()) fail(node.Mark(), key + ": has no value");
    if (!node.IsScalar())
        fail(node.Mark(), key + ": must be a single value here, not a " + (node.IsMap() ? "map" : "list"));
    if (node.Scalar().size() > kMaxTextBytes) fail(node.Mark(), key + ": the value is longer than 4096 bytes");
    if (!is_printable(node.Scalar())) fail(node.Mark(), key + ": the value holds control characters");
    return {node.Scalar(), place(node.Mark())};
}

std::string YamlText::key_of(const YAML::Node& node, const std::string& prefix, Seen& seen) {
    std::string key = prefix + scalar(node, "a key").text;
    if (key == prefix + "<<") fail(node.Mark(), "merge keys (<<) are not supported: write the settings out");
    const auto [first, is_new] = seen.emplace(key, node.Mark().line + 1);
    if (!is_new)
        fail(node.Mark(), "duplicate key '" + key + "': first written on line " + std::to_string(first->second));
    return key;
}

Assignment YamlText::assignment(const std::string& key, const YAML::Node& key_node, const YAML::Node& value) {
    Assignment read{key, place(key_node.Mark()), value.IsSequence(), {}};
    if (!read.is_list) {
        read.values.push_back(scalar(value, key));
    } else {
        for (const YAML::Node& item : value) read.values.push_back(scalar(item, key));
    }
    return read;
}

void YamlText::read_map(const YAML::Node& map, const std::string& prefix, MapRead& read,
                        std::optional<YAML::Node>* groups) {
    for (const auto& entry : map) {
        const std::string key = key_of(entry.first, prefix, read.seen);
        if (groups != nullptr && key == "groups") {
            groups->emplace(entry.second);
        } else if (prefix.empty() && is_key_group(key) && entry.second.IsMap()) {
            read_map(entry.second, key + ".", read, nullptr);
        } else if (is_point_key(key) || is_study_key(key)) {
            read.assignments.push_back(assignment(key, entry.first, entry.second));
        } else {
            fail(entry.first.Mark(), unknown_key(key));
        }
    }
}

std::vector<Assignments> YamlText::read_groups(const YAML::Node& groups) {
    if (!groups.IsSequence()) fail(groups.Mark(), "groups: must be a list of maps (`groups:`, then `- {patch: 128}`)");
    if (groups.size() == 0)
        fail(groups.Mark(), "groups: the list is empty; leave the key out for a study without groups");
    std::vector<Assignments> all;
    for (const YAML::Node& group : groups) {
        if (!group.IsMap()) fail(group.Mark(), "groups: each entry must be a map of settings (`- {patch: 128}`)");
        MapRead read;
        read_map(group, "", read, nullptr);
        all.push_back(std::move(read.assignments));
    }
    return all;
}

StudyText YamlText::study(const YAML::Node& root) {
    if (!root.IsMap()) fail(root.Mark(), "a study must be a map of settings (`patch: 256`)");
    MapRead read;
    std::optional<YAML::Node> groups;
    read_map(root, "", read, &groups);
    StudyText study{std::move(read.assignments), {}};
    if (groups) study.groups = read_groups(*groups);
    return study;
}

ModelWeights YamlText::model_weights(const YAML::Node& entry) {
    if (!entry.IsMap()) fail(entry.Mark(), "weights: each entry must be a map (`- {name: .., file: ..}`)");
    ModelWeights weights;
    const std::map<std::string, std::function<void(const std::string&)>> members{
        {"name", [&](const std::string& text) { parse_setting(text, weights.name); }},
        {"file", [&](const std::string& text) { parse_setting(text, weights.file); }},
        {"url", [&](const std::string& text) { parse_setting(text, weights.url); }},
        {"sha256", [&](const std::string& text) { parse_setting(text, weights.sha256); }},
        {"channels", [&](const std::string& text) { parse_setting(text, weights.channels); }},
        {"sigma_train", [&](const std::string& text) { parse_setting(text, weights.sigma_train); }},
        {"layout", [](const std::string&) {}},
        {"trained_on", [](const std::string&) {}},
        {"note", [](const std::string&) {}}};
    Seen seen;
    for (const auto& item : entry) {
        const std::string key = key_of(item.first, "", seen);
        const auto member = members.find(key);
        if (member == members.end())
            fail(item.first.Mark(),
                 "unknown key '" + key +
                     "'; known are name, file, url, sha256, channels, sigma_train, layout, trained_on, note");
        if (item.second.IsNull()) continue;  // not known, or none
        const PlacedText value = scalar(item.second, key);
        try {
            member->second(value.text);
        } catch (const UsageError& error) {
            fail(item.second.Mark(), key + ": " + error.what());
        }
    }
    if (weights.name.empty()) fail(entry.Mark(), "weights: an entry needs a name");
    if (weights.channels != 1 && weights.channels != 3) fail(entry.Mark(), weights.name + ": channels must be 1 or 3");
    return weights;
}

std::vector<ModelWeights> YamlText::model_card(const YAML::Node& root) {
    if (!root.IsMap()) fail(root.Mark(), "a model card must be a map with a list `weights:`");
    Seen seen;
    std::optional<YAML::Node> entries;
    for (const auto& item : root)
        if (key_of(item.first, "", seen) == "weights") entries.emplace(item.second);
    if (!entries || !entries->IsSequence()) fail(root.Mark(), "a model card needs a list `weights:`");
    std::vector<ModelWeights> all;
    for (const YAML::Node& entry : *entries) all.push_back(model_weights(entry));
    return all;
}

std::string read_text(const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& why) { throw UsageError(file.string() + ": " + why); };
    std::error_code error;
    const auto status = std::filesystem::status(file, error);
    if (!std::filesystem::exists(status)) refuse("there is no such file");
    if (std::filesystem::is_directory(status)) refuse("is a folder, not a YAML file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) refuse("cannot be read: " + std::string(std::strerror(errno)));
    std::string text(kMaxFileBytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(stream.gcount()));
    if (text.size() > kMaxFileBytes) refuse("larger than 1 MiB: not a study");
    if (text.empty()) refuse("the file is empty");
    return text;
}

/// "key=value" as an assignment. A list is written as in YAML: patch=[64, 128].
Assignment parse_override(const std::string& text) {
    YamlText yaml("--set " + text);
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) throw UsageError("--set " + text + ": must be key=value");
    const std::string key = text.substr(0, equals);
    const std::string value = text.substr(equals + 1);
    const Place place{std::make_shared<const std::string>("--set " + text), 0, 0};
    if (!is_point_key(key) && !is_study_key(key)) throw UsageError(place.text() + ": " + unknown_key(key));
    if (!value.starts_with('[')) return {key, place, false, {{value, place}}};
    Assignment read = yaml.assignment(key, YAML::Node(), yaml.parse(value));
    read.place = place;
    for (PlacedText& item : read.values) item.place = place;
    return read;
}

}  // namespace

Config load_config(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
    YamlText yaml(file.string());
    StudyText study = yaml.study(yaml.parse(read_text(file)));
    Assignments replacements;
    for (const std::string& text : overrides) replacements.push_back(parse_override(text));
    apply_overrides(study, replacements);
    Config config = expand_study(study);
    config.file = file.string();
    return config;
}

std::vector<ModelWeights> load_model_card(const std::filesystem::path& file) {
    YamlText yaml(file.string());
    return yaml.model_card(yaml.parse(read_text(file)));
}

}  // namespace pb
