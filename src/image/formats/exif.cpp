#include "image/formats/exif.hpp"

#include "image/formats/random_access.hpp"

#include <array>

namespace pb::image {
namespace {

constexpr uint16_t kOrientationTag = 274;
constexpr size_t kEntryBytes = 12;

}  // namespace

std::vector<std::byte> without_exif_mark(std::vector<std::byte> exif) {
    const std::string_view text(reinterpret_cast<const char*>(exif.data()), exif.size());
    if (text.starts_with(kExifMark)) exif.erase(exif.begin(), exif.begin() + kExifMark.size());
    return exif;
}

uint16_t exif_orientation(std::span<const std::byte> exif) {
    const bool big_endian = !exif.empty() && exif.front() == std::byte{'M'};
    // A number past the end is 0.
    const auto number = [&](size_t offset, size_t bytes) -> uint64_t {
        if (offset > exif.size() || bytes > exif.size() - offset) return 0;
        return number_in(exif.subspan(offset, bytes), big_endian);
    };
    const size_t directory = number(4, 4);
    const size_t entries = number(directory, 2);
    for (size_t i = 0; i < entries; ++i) {
        const size_t entry = directory + 2 + i * kEntryBytes;
        if (number(entry, 2) != kOrientationTag) continue;
        const uint64_t value = number(entry + 8, 2);
        return value >= 1 && value <= 8 ? static_cast<uint16_t>(value) : uint16_t{1};
    }
    return 1;
}

std::vector<std::byte> make_orientation_exif(uint16_t orientation) {
    // The block has a little-endian header, one directory at byte 8 with one SHORT entry, and no second directory.
    const std::array<uint8_t, 26> block{
        'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, static_cast<uint8_t>(orientation),
        0,   0,   0,  0, 0, 0, 0};
    const auto* bytes = reinterpret_cast<const std::byte*>(block.data());
    return {bytes, bytes + block.size()};
}

}  // namespace pb::image
