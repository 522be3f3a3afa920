#include "image/png_chunks.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

namespace pb::image {
namespace {

uint32_t big_endian(const std::byte* b) {
    return std::to_integer<uint32_t>(b[0]) << 24U | std::to_integer<uint32_t>(b[1]) << 16U |
           std::to_integer<uint32_t>(b[2]) << 8U | std::to_integer<uint32_t>(b[3]);
}

/// Returns the name of a chunk's metadata if it is lost, or an empty text. sRGB and its gAMA have no name because
/// readers assume them. The other chunks without a name describe the pixels, which are kept.
std::string name_of_lost(std::string_view type) {
    if (type == "tEXt" || type == "zTXt" || type == "iTXt") return "text";
    if (type == "tIME") return "time of change";
    if (type == "cHRM" || type == "cICP") return "colour tags other than the profile";
    return {};
}

}  // namespace

PngChunks walk_png_chunks(const RandomAccessFile& file) {
    constexpr uint64_t kSignatureBytes = 8;
    constexpr uint64_t kFramingBytes = 12;  // length, type and CRC of a chunk
    PngChunks chunks;
    for (uint64_t offset = kSignatureBytes;;) {
        std::array<std::byte, 8> head{};
        file.read_at(offset, head);
        const uint64_t length = big_endian(head.data());
        if (length + kFramingBytes > file.size() - offset)
            file.refuse_damaged(fmt::format("a chunk at byte {} reaches past the end", offset));
        const std::string_view type(reinterpret_cast<const char*>(head.data()) + 4, 4);
        if (type == "IEND") return chunks;
        if (type == "IDAT") chunks.pixel_data_bytes += length;
        if (std::string name = name_of_lost(type); !name.empty()) chunks.not_kept.push_back(std::move(name));
        if (type == "acTL") chunks.is_animated = true;
        if (type == "eXIf") {
            chunks.exif.resize(length);
            file.read_at(offset + head.size(), chunks.exif);
        }
        offset += length + kFramingBytes;
    }
}

}  // namespace pb::image
