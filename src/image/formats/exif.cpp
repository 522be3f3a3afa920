#include "image/formats/exif.hpp"

#include <array>

namespace pb::image {
namespace {

constexpr uint16_t kOrientationTag = 274;
constexpr size_t kEntryBytes = 12;

/// Reads unsigned numbers in the byte order of the block. A read past the end gives 0.
class Reader {
  public:
    explicit Reader(std::span<const std::byte> block)
        : block_(block), big_endian_(!block.empty() && block.front() == std::byte{'M'}) {}

    [[nodiscard]] uint32_t number(size_t offset, size_t bytes) const {
        if (offset > block_.size() || bytes > block_.size() - offset) return 0;
        uint32_t value = 0;
        for (size_t i = 0; i < bytes; ++i)
            value = value << 8U | std::to_integer<uint32_t>(block_[offset + (big_endian_ ? i : bytes - 1 - i)]);
        return value;
    }

  private:
    std::span<const std::byte> block_;
    bool big_endian_;
};

}  // namespace

uint16_t exif_orientation(std::span<const std::byte> exif) {
    const Reader reader(exif);
    const size_t directory = reader.number(4, 4);
    const size_t entries = reader.number(directory, 2);
    for (size_t i = 0; i < entries; ++i) {
        const size_t entry = directory + 2 + i * kEntryBytes;
        if (reader.number(entry, 2) != kOrientationTag) continue;
        const uint32_t value = reader.number(entry + 8, 2);
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
