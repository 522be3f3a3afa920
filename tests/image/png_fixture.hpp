// PNG files of kinds that this program reads but does not write.
#pragma once

#include "image_support.hpp"

#include <png.h>

#include <array>
#include <optional>

namespace pb::test {

struct PngKind {
    int bits = 8;
    int colour = PNG_COLOR_TYPE_RGB;
    int interlace = PNG_INTERLACE_NONE;
    std::vector<png_color> palette;
    std::vector<png_byte> palette_alpha;
    const png_color_16* transparent = nullptr;
    std::optional<int> resolution_unit;  // of 3000 x 3000
};

/// `rows` are packed as the file holds them (16-bit samples big-endian). libpng ends the program on errors.
inline void write_png_fixture(const std::filesystem::path& path, const PngKind& kind,
                              std::vector<std::vector<png_byte>> rows, uint32_t width) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_init_io(png, file);
    png_set_IHDR(png, info, width, static_cast<png_uint_32>(rows.size()), kind.bits, kind.colour, kind.interlace,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (!kind.palette.empty()) png_set_PLTE(png, info, kind.palette.data(), static_cast<int>(kind.palette.size()));
    const auto num_alpha = static_cast<int>(kind.palette_alpha.size());
    if (num_alpha > 0 || kind.transparent != nullptr)
        png_set_tRNS(png, info, kind.palette_alpha.data(), num_alpha, kind.transparent);
    if (kind.resolution_unit) png_set_pHYs(png, info, 3000, 3000, *kind.resolution_unit);
    std::vector<png_bytep> pointers;
    for (auto& row : rows) pointers.push_back(row.data());
    png_set_rows(png, info, pointers.data());
    png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
    png_destroy_write_struct(&png, &info);
    std::fclose(file);
}

}  // namespace pb::test
