// Reads YAML as plain text with places. Everything in a file becomes a value or an error with file:line:column. Limits
// protect against hostile files: with aliases a small file can expand to a huge one.
#pragma once

#include "config/study_text.hpp"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace pb::config {

/// The file as text. Throws UsageError that names the file when it is missing, a folder, empty, larger than 1 MiB.
[[nodiscard]] std::string read_yaml_file(const std::filesystem::path& file);

/// Reads the nodes of one document. Errors name the document.
class YamlText {
  public:
    using Seen = std::map<std::string, int>;  // key -> line on which it was written

    explicit YamlText(std::string name) : origin_(std::make_shared<const std::string>(std::move(name))) {}

    /// The only document of `text`; throws UsageError for syntax errors, no document and more than one.
    [[nodiscard]] YAML::Node parse(const std::string& text) const;

    /// Text and place of a scalar; throws for null, a list, a map, control characters and more than 4096 bytes.
    [[nodiscard]] PlacedText scalar(const YAML::Node& node, const std::string& key);
    /// `prefix` + the key; throws for a key that was seen before, and for merge keys.
    [[nodiscard]] std::string key_of(const YAML::Node& node, const std::string& prefix, Seen& seen);
    /// The values of a setting: a value, a list, a range, or a list that contains ranges.
    [[nodiscard]] Assignment assignment(const std::string& key, const YAML::Node& key_node, const YAML::Node& value);

    [[nodiscard]] Place place(const YAML::Mark& mark) const {
        return mark.is_null() ? Place{origin_, 0, 0} : Place{origin_, mark.line + 1, mark.column + 1};
    }
    [[noreturn]] void fail(const YAML::Mark& mark, const std::string& message) const;
    /// Calls `read`; puts the place and `prefix` in front of a UsageError.
    void placing(const YAML::Mark& mark, const std::string& prefix, const std::function<void()>& read) const;

  private:
    void count_value(const YAML::Mark& mark, const std::string& key);
    void add_range(const std::string& key, const YAML::Node& range, std::vector<PlacedText>& values);

    std::shared_ptr<const std::string> origin_;
    int64_t values_left_ = 200'000;
};

}  // namespace pb::config
