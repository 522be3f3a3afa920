// Damaged copies of a file, for readers that must load or throw pb::Error, whatever the bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>

namespace pb::test {

inline std::string read_bytes(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// `visit` sees `whole` cut at some `cuts` lengths below its own (every one when there are fewer).
inline void for_each_truncation(const std::string& whole, size_t cuts, const std::function<void(std::string)>& visit) {
    const size_t step = std::max<size_t>(1, whole.size() / cuts);
    for (size_t length = 0; length < whole.size(); length += step) visit(whole.substr(0, length));
}

/// `visit` sees `seeds` copies of `whole` in which one to eight bytes have other values.
inline void for_each_damage(const std::string& whole, uint32_t seeds, const std::function<void(std::string)>& visit) {
    for (uint32_t seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        std::string damaged = whole;
        for (uint32_t flips = 1 + random() % 8; flips > 0; --flips)
            damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
        visit(std::move(damaged));
    }
}

}  // namespace pb::test
