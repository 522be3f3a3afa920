// Writes Windows bitmaps: gray with a palette of 8 bits, colours with 24 bits, alpha with 32 bits (gray with alpha as
// three equal colours). The header is BITMAPINFOHEADER, or BITMAPV5HEADER where alpha or a profile needs it.
#include "image/formats/bmp.hpp"
#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/metadata.hpp"

#include "patchbench/base/error.hpp"

#include <limits>
#include <vector>

namespace pb::image {
namespace {

using Bytes = std::vector<std::byte>;

constexpr size_t kFileHeader = 14, kGrays = 256;

void put(Bytes& bytes, uint64_t value, size_t count = 4) {
    for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// What the parts of the file need.
struct Layout {
    explicit Layout(const ImageToSave& image)
        : alpha(has_alpha(image)),
          gray(!alpha && image.pixels.channels == 1),
          pixel_bytes(gray    ? 1
                      : alpha ? 4
                              : 3),
          profile_bytes(image.metadata == nullptr ? 0 : image.metadata->icc_profile.size()),
          info_bytes(alpha || profile_bytes > 0 ? kBmpV5 : kBmpInfo),
          rows_begin(kFileHeader + info_bytes + (gray ? 4 * kGrays : 0)),
          rows_bytes(bmp_row_bytes(image.pixels.extent.w, pixel_bytes) * static_cast<uint64_t>(image.pixels.extent.h)) {
    }

    [[nodiscard]] uint64_t file_bytes() const { return rows_begin + rows_bytes + profile_bytes; }

    bool alpha, gray;
    uint64_t pixel_bytes, profile_bytes, info_bytes, rows_begin, rows_bytes;
};

/// The end of BITMAPV5HEADER: masks of the channels, colour space, gamma, intent and profile.
void put_v5_fields(Bytes& bytes, const Layout& layout) {
    constexpr uint32_t kDefault = 0x57696E20;  // 'Win ', the system's colour space
    constexpr uint32_t kIntentOfImages = 4;
    constexpr size_t kEndpointsAndGamma = 48;
    for (const uint32_t mask : {0x00FF0000U, 0x0000FF00U, 0x000000FFU, 0xFF000000U})
        put(bytes, layout.alpha ? mask : 0);
    put(bytes, layout.profile_bytes > 0 ? kBmpEmbedded : kDefault);
    bytes.resize(bytes.size() + kEndpointsAndGamma);
    put(bytes, kIntentOfImages);
    put(bytes, layout.profile_bytes > 0 ? layout.rows_begin + layout.rows_bytes - kFileHeader : 0);
    put(bytes, layout.profile_bytes);
    put(bytes, 0);
}

Bytes make_header(const ImageToSave& image, const Layout& layout) {
    const auto stated = image.metadata == nullptr ? std::nullopt : dots_per_metre(*image.metadata);
    const DotsPerMetre dots = stated.value_or(DotsPerMetre{});
    Bytes bytes{std::byte{'B'}, std::byte{'M'}};
    put(bytes, layout.file_bytes());
    put(bytes, 0);
    put(bytes, layout.rows_begin);
    put(bytes, layout.info_bytes);
    put(bytes, static_cast<uint64_t>(image.pixels.extent.w));
    put(bytes, static_cast<uint64_t>(image.pixels.extent.h));
    put(bytes, 1, 2);  // planes
    put(bytes, 8 * layout.pixel_bytes, 2);
    put(bytes, layout.alpha ? kBmpMasked : kBmpPlain);
    put(bytes, layout.rows_bytes);
    put(bytes, dots.x);
    put(bytes, dots.y);
    put(bytes, layout.gray ? kGrays : 0);
    put(bytes, 0);  // all colours are important
    if (layout.info_bytes == kBmpV5) put_v5_fields(bytes, layout);
    for (uint64_t gray = 0; layout.gray && gray < kGrays; ++gray) put(bytes, gray << 16U | gray << 8U | gray);
    return bytes;
}

/// One row as the file holds it. `to` has the padding already.
void fill_row(const Layout& layout, const std::byte* from, int64_t channels, int64_t count, Bytes& to) {
    std::byte* out = to.data();
    const bool colour = channels >= 3;
    for (int64_t x = 0; x < count; ++x, from += channels, out += layout.pixel_bytes) {
        out[0] = from[colour ? 2 : 0];
        if (layout.gray) continue;
        out[1] = from[colour ? 1 : 0];
        out[2] = from[0];
        if (layout.alpha) out[3] = from[channels - 1];
    }
}

}  // namespace

void write_bmp(const ImageToSave& image, AtomicFile& file) {
    const Layout layout(image);
    if (layout.file_bytes() > std::numeric_limits<uint32_t>::max())
        throw Error("writing BMP failed: with its colour profile the file would be larger than 4 GiB");
    file.append(make_header(image, layout));
    InterleavingRows rows(image);
    Bytes row(bmp_row_bytes(image.pixels.extent.w, layout.pixel_bytes));
    for (int64_t y = image.pixels.extent.h; y-- > 0;) {
        fill_row(layout, rows.row(y), rows.channels(), image.pixels.extent.w, row);
        file.append(row);
    }
    if (layout.profile_bytes > 0) file.append(image.metadata->icc_profile);
}

}  // namespace pb::image
