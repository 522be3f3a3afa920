#include "device/kernel_text.hpp"

#include <fstream>
#include <sstream>

namespace pb::device {

std::optional<std::string> find_value(const std::filesystem::path& file, const std::string& name) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        // "Mem" must not find "MemTotal".
        if (!line.starts_with(name) || line.find_first_of(": \t", name.size()) != name.size()) continue;
        const size_t begin = line.find_first_not_of(" \t:", name.size());
        if (begin == std::string::npos) return "";
        return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
    }
    return std::nullopt;
}

std::optional<int64_t> find_bytes(const std::filesystem::path& file, const std::string& name) {
    const auto value = find_value(file, name);
    if (!value) return std::nullopt;
    std::istringstream text(*value);
    int64_t number = 0;
    std::string unit;
    if (!(text >> number)) return std::nullopt;
    text >> unit;
    return unit == "kB" ? number * 1024 : number;
}

std::optional<int64_t> find_number(const std::filesystem::path& file) {
    std::ifstream stream(file);
    int64_t number = 0;
    if (!(stream >> number)) return std::nullopt;
    return number;
}

}  // namespace pb::device
