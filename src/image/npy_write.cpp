#include "image/formats.hpp"
#include "image/interleaved.hpp"
#include "image/npy_header.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

namespace pb::image {

namespace {

/// Returns NumPy's name of a type: byte order, kind, number of bytes.
std::string descr_of(DType dtype) {
    if (dtype == DType::u8) return "|u1";
    const char* kind = is_float(dtype) ? "f" : dtype == DType::i16 ? "i" : "u";
    return fmt::format("<{}{}", kind, size_of(dtype));
}

}  // namespace

std::string npy_header(const ImageInfo& info) {
    const int64_t channels = info.channels + (info.has_alpha ? 1 : 0);
    std::string shape = fmt::format("{}, {}", info.extent.h, info.extent.w);
    if (channels > 1 || info.has_channel_axis) shape += fmt::format(", {}", channels);
    std::string text = "{'descr': '" + descr_of(info.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    constexpr size_t kFixedBytes = 10;  // magic, version and length of the header
    constexpr size_t kAlignment = 64;
    while ((kFixedBytes + text.size() + 1) % kAlignment != 0) text += ' ';
    text += '\n';
    std::string header = "\x93NUMPY";
    header += {'\x01', '\x00', static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
    return header + text;
}

void write_raw(const ImageToSave& image, AtomicFile& file) {
    static_assert(std::endian::native == std::endian::little, "samples are written as they lie in memory");
    InterleavingRows rows(image);
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

void write_npy(const ImageToSave& image, AtomicFile& file) {
    const std::string header = npy_header(
        {image.pixels.extent, image.pixels.channels, image.pixels.dtype, has_alpha(image), image.has_channel_axis});
    file.append(std::as_bytes(std::span(header)));
    write_raw(image, file);
}

}  // namespace pb::image
