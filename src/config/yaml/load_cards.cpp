#include "base/mapped.hpp"
#include "base/text.hpp"
#include "config/load_yaml.hpp"
#include "config/text.hpp"
#include "config/yaml/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace pb::config {

namespace {

using Members = std::vector<std::pair<std::string, std::function<void(const std::string&)>>>;

std::string names_of_all(const Members& members) {
    std::string names;
    for (const auto& [name, take] : members) add_item(names, name, ", ");
    return names;
}

ModelWeights model_weights(YamlText& yaml, const YAML::Node& entry) {
    if (!entry.IsMap()) yaml.fail(entry.Mark(), "weights: each entry must be a map (`- {name: .., file: ..}`)");
    ModelWeights weights;
    const auto into = [](auto& member) { return [&](const std::string& text) { parse_setting(text, member); }; };
    const auto passed_over = [](const std::string&) {};
    const Members members{{"name", into(weights.name)},
                          {"file", into(weights.file)},
                          {"url", into(weights.url)},
                          {"sha256", into(weights.sha256)},
                          {"channels", into(weights.channels)},
                          {"sigma_train", into(weights.sigma_train)},
                          {"sigma_most", into(weights.sigma_most)},
                          {"layout", passed_over},
                          {"trained_on", passed_over},
                          {"note", passed_over}};
    YamlText::Seen seen;
    for (const auto& item : entry) {
        const std::string key = yaml.key_of(item.first, "", seen);
        const auto member = std::ranges::find(members, key, [](const auto& known) { return known.first; });
        if (member == members.end())
            yaml.fail(item.first.Mark(), fmt::format("unknown key '{}'; known are {}", key, names_of_all(members)));
        if (item.second.IsNull()) continue;  // the same as an absent key
        const PlacedText value = yaml.scalar(item.second, key);
        yaml.placing(item.second.Mark(), key + ": ", [&] { member->second(value.text); });
    }
    if (weights.name.empty()) yaml.fail(entry.Mark(), "weights: an entry needs a name");
    if (weights.channels != 1 && weights.channels != 3)
        yaml.fail(entry.Mark(), weights.name + ": channels must be 1 or 3");
    return weights;
}

std::vector<ModelWeights> model_card(YamlText& yaml, const YAML::Node& root) {
    if (!root.IsMap()) yaml.fail(root.Mark(), "a model card must be a map with a list `weights:`");
    YamlText::Seen seen;
    std::optional<YAML::Node> entries;
    for (const auto& item : root)
        if (yaml.key_of(item.first, "", seen) == "weights") entries.emplace(item.second);
    if (!entries || !entries->IsSequence()) yaml.fail(root.Mark(), "a model card needs a list `weights:`");
    return mapped(*entries, [&](const YAML::Node& entry) { return model_weights(yaml, entry); });
}

}  // namespace

std::vector<ModelWeights> load_model_card(const std::filesystem::path& file) {
    YamlText yaml(file.string());
    return model_card(yaml, yaml.parse(read_yaml_file(file)));
}

CardFile load_network_card(const std::filesystem::path& file) {
    YamlText yaml(file.string());
    const YAML::Node root = yaml.parse(read_yaml_file(file));
    if (!root.IsMap()) yaml.fail(root.Mark(), "a network's card must be a map (`channels: 3`)");
    CardFile found;
    YamlText::Seen seen;
    for (const auto& item : root) {
        const std::string key = yaml.key_of(item.first, "", seen);
        const PlacedText value = yaml.scalar(item.second, key);
        if (key == "sha256")
            found.sha256 = value.text;
        else
            yaml.placing(item.second.Mark(), "", [&] { network::set_value(found.card, key, value.text); });
    }
    yaml.placing(root.Mark(), "", [&] { network::check(found.card); });
    return found;
}

}  // namespace pb::config
