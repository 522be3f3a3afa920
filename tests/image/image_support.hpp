// What the image tests share: images with known contents, comparison.
#pragma once

#include "support/load_image.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace pb::test {

/// Samples that differ from pixel to pixel and from channel to channel, over the whole range of the type.
inline image::Image make_pattern(Extent extent, int64_t channels, DType dtype, uint32_t salt = 0) {
    image::Image image(extent, channels, dtype);
    const int64_t count = extent.pixels() * channels;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t word = (static_cast<uint32_t>(i) + salt) * 2654435761U;
        if (dtype == DType::u8) image.as<uint8_t>()[i] = static_cast<uint8_t>(word >> 24U);
        if (dtype == DType::u16) image.as<uint16_t>()[i] = static_cast<uint16_t>(word >> 16U);
        if (dtype == DType::i16) image.as<int16_t>()[i] = static_cast<int16_t>(word >> 16U);
        if (dtype == DType::u32) image.as<uint32_t>()[i] = word;
        if (dtype == DType::f16) image.as<uint16_t>()[i] = static_cast<uint16_t>((word >> 16U) & 0xBBFFU);  // finite
        if (dtype == DType::f32) image.as<float>()[i] = static_cast<float>(word >> 8U) / 8388608.0F - 0.5F;
        if (dtype == DType::f64) image.as<double>()[i] = static_cast<double>(word) / 4294967296.0 - 0.5;
    }
    return image;
}

inline bool same_bytes(const image::Image& a, const image::Image& b) {
    return a.extent() == b.extent() && a.channels() == b.channels() && a.dtype() == b.dtype() &&
           std::ranges::equal(a.bytes(), b.bytes());
}

inline image::Image read_part(image::ImageFile& file, const Rect& part) {
    image::Image image(part.extent, file.info().channels, file.info().dtype);
    file.read(part, image.view());
    return image;
}

inline image::Image crop(const image::Image& image, const Rect& part) {
    image::Image cropped(part.extent, image.channels(), image.dtype());
    const PixelView from = image.view();
    for (int64_t y = 0; y < part.extent.h; ++y)
        std::memcpy(cropped.view().row(y),
                    from.row(part.row + y) + static_cast<size_t>(part.column) * from.pixel_bytes(),
                    cropped.row_bytes());
    return cropped;
}

/// Every part read by itself equals that part of the whole; parts that cross blocks and touch borders.
inline void expect_parts_equal_whole(const std::filesystem::path& path, const image::Image& whole) {
    const auto file = image::open_image(path);
    const Extent extent = whole.extent();
    for (int64_t h : {int64_t{1}, int64_t{7}, extent.h / 2, extent.h})
        for (int64_t w : {int64_t{1}, int64_t{13}, extent.w / 2, extent.w})
            for (int64_t row : {int64_t{0}, (extent.h - h) / 3, extent.h - h})
                for (int64_t column : {int64_t{0}, (extent.w - w) / 3, extent.w - w}) {
                    const Rect part{row, column, {h, w}};
                    ASSERT_TRUE(same_bytes(read_part(*file, part), crop(whole, part)))
                        << path << " row " << row << " column " << column << ": " << h << " x " << w;
                }
}

inline std::vector<char> read_bytes(const std::filesystem::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::vector<char>& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// The message of the UsageError that opening or loading `path` throws.
inline std::string refusal_of(const std::filesystem::path& path) {
    return usage_error([&] { (void)image::load_image(path); });
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

}  // namespace pb::test
