// Reads uncompressed Windows bitmaps by windows: every row has its place in the file.
#include "image/bmp_header.hpp"
#include "image/formats.hpp"
#include "image/interleaved.hpp"

#include <fmt/format.h>

#include <utility>

namespace pb::image {
namespace {

class BmpFile final : public ImageFile {
  public:
    BmpFile(OpenedFile file, BmpHeader header) : file_(std::move(file)), header_(std::move(header)) {}
    [[nodiscard]] const ImageInfo& info() const override { return header_.info; }
    [[nodiscard]] const ImageMetadata& metadata() const override { return header_.metadata; }
    [[nodiscard]] bool windowed() const override { return true; }

    void read(const Rect& part, MutablePixelView to) override {
        check_read(info(), part, to);
        read_channels(part, 0, to);
    }

    [[nodiscard]] Image read_alpha(const Rect& part) override {
        constexpr size_t kAlpha = 3;  // in BmpHeader::places
        if (!info().has_alpha) return {};
        Image alpha(part.extent, 1, info().dtype);
        read_channels(part, kAlpha, alpha.view());
        return alpha;
    }

  private:
    void read_channels(const Rect& part, size_t first, MutablePixelView to) {
        row_.resize(static_cast<size_t>(part.extent.w) * header_.pixel_bytes);
        for (int64_t y = 0; y < part.extent.h; ++y) {
            const int64_t row = part.row + y;
            const int64_t stored = header_.top_down ? row : info().extent.h - 1 - row;
            file_->read_at(header_.rows_begin + static_cast<uint64_t>(stored) * header_.row_bytes +
                               static_cast<uint64_t>(part.column) * header_.pixel_bytes,
                           row_);
            auto* out = reinterpret_cast<uint8_t*>(to.row(y));
            if (header_.palette.empty())
                copy_samples(first, static_cast<size_t>(to.channels), out);
            else
                look_up(row, static_cast<size_t>(to.channels), out);
        }
    }

    void copy_samples(size_t first, size_t count, uint8_t* out) const {
        const auto* pixel = reinterpret_cast<const uint8_t*>(row_.data());
        for (size_t i = 0; i < row_.size(); i += header_.pixel_bytes)
            for (size_t c = first; c < first + count; ++c) *out++ = pixel[i + header_.places[c]];
    }

    void look_up(int64_t row, size_t count, uint8_t* out) const {
        for (const std::byte sample : row_) {
            const auto colour = std::to_integer<size_t>(sample);
            if (colour >= header_.palette.size())
                file_->refuse_damaged(
                    fmt::format("row {} has colour {} of a palette of {}", row, colour, header_.palette.size()));
            for (size_t c = 0; c < count; ++c) *out++ = header_.palette[colour][c];
        }
    }

    OpenedFile file_;
    BmpHeader header_;
    std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<ImageFile> open_bmp(OpenedFile file) {
    BmpHeader header = read_bmp_header(*file);
    return std::make_unique<BmpFile>(std::move(file), std::move(header));
}

}  // namespace pb::image
