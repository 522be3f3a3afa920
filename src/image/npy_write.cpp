#include "formats.hpp"
#include "interleaved.hpp"

#include <bit>
#include <string>

namespace pb {
namespace {

/// Version 1 header, padded so that samples begin at a multiple of 64 bytes, as numpy.save does.
std::string npy_header(const ImageView& pixels, int64_t channels) {
    static_assert(std::endian::native == std::endian::little, "samples are written as they lie in memory");
    const char* descr = pixels.dtype == DType::u8 ? "|u1" : pixels.dtype == DType::u16 ? "<u2" : "<f4";
    std::string shape = std::to_string(pixels.extent.h) + ", " + std::to_string(pixels.extent.w);
    if (channels > 1) shape += ", " + std::to_string(channels);
    std::string text = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr size_t kFixedBytes = 10;  // magic, version, length
    constexpr size_t kAlignment = 64;
    while ((kFixedBytes + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    std::string header = "\x93NUMPY";
    header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
    return header + text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace

void write_npy(const ImageToSave& image, AtomicFile& file) {
    InterleavingRows rows(image);
    file.append(bytes_of(npy_header(image.pixels, rows.channels())));
    constexpr size_t kPieceBytes = size_t{1} << 20U;
    std::vector<std::byte> piece;
    for (int64_t y = 0; y < image.pixels.extent.h; ++y) {
        const std::byte* row = rows.row(y);
        piece.insert(piece.end(), row, row + rows.row_bytes());
        if (piece.size() < kPieceBytes) continue;
        file.append(piece);
        piece.clear();
    }
    file.append(piece);
}

}  // namespace pb
