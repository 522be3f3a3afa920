// Readers of the kernel's small text files: "name: value" or "name value" lines, and single numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pb::device {

/// The value of the first line `name: value` or `name value`, without surrounding blanks; none when there is no such
/// line.
[[nodiscard]] std::optional<std::string> find_value(const std::filesystem::path& file, const std::string& name);

/// `find_value` as bytes; understands the suffix kB.
[[nodiscard]] std::optional<int64_t> find_bytes(const std::filesystem::path& file, const std::string& name);

/// The number that a file holds; none when the file is absent or holds something else ("max").
[[nodiscard]] std::optional<int64_t> find_number(const std::filesystem::path& file);

}  // namespace pb::device
