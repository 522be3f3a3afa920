#include "config/load_yaml.hpp"
#include "config/yaml/yaml_text.hpp"

#include "patchbench/base/error.hpp"

namespace pb::config {

CardFile load_network_card(const std::filesystem::path& file) {
    YamlText yaml(file.string());
    const YAML::Node root = yaml.parse(read_yaml_file(file));
    if (!root.IsMap()) yaml.fail(root.Mark(), "a network's card must be a map (`channels: 3`)");
    CardFile found;
    YamlText::Seen seen;
    for (const auto& item : root) {
        const std::string key = yaml.key_of(item.first, "", seen);
        const PlacedText value = yaml.scalar(item.second, key);
        try {
            if (key == "sha256")
                found.sha256 = value.text;
            else
                network::set_value(found.card, key, value.text);
        } catch (const UsageError& error) {
            yaml.fail(item.second.Mark(), error.what());
        }
    }
    try {
        network::check(found.card);
    } catch (const UsageError& error) {
        yaml.fail(root.Mark(), error.what());
    }
    return found;
}

}  // namespace pb::config
