#include "image/formats.hpp"
#include "image/interleaved.hpp"
#include "image/npy_header.hpp"
#include "image/sample_types.hpp"

#include <fmt/format.h>

#include <utility>

namespace pb::image {
namespace {

/// A file of dense rows from a given byte offset on: .npy, and raw samples whose layout the caller supplies.
class NpyFile final : public ImageFile {
  public:
    NpyFile(OpenedFile file, const NpyHeader& header) : file_(std::move(file)), header_(header) {}
    [[nodiscard]] const ImageInfo& info() const override { return header_.info; }
    [[nodiscard]] const ImageMetadata& metadata() const override { return metadata_; }
    [[nodiscard]] bool windowed() const override { return true; }

    void read(const Rect& part, MutablePixelView to) override {
        check_read(info(), part, to);
        read_channels(part, 0, to);
        if (!keeps_not_finite()) refuse_not_finite(*file_, part, to);
    }

    [[nodiscard]] Image read_alpha(const Rect& part) override {
        if (!info().has_alpha) return {};
        Image alpha(part.extent, 1, info().dtype);
        read_channels(part, info().channels, alpha.view());
        return alpha;
    }

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) {
        const int64_t channels = info().channels + (info().has_alpha ? 1 : 0);
        const size_t sample_bytes = size_of(info().dtype);
        const size_t pixel_bytes = static_cast<size_t>(channels) * sample_bytes;
        row_.resize(static_cast<size_t>(part.extent.w) * pixel_bytes);
        for (int64_t y = 0; y < part.extent.h; ++y) {
            const auto pixel = static_cast<uint64_t>((part.row + y) * info().extent.w + part.column);
            file_->read_at(header_.samples_begin + pixel * pixel_bytes, row_);
            if (header_.big_endian) swap_sample_bytes(row_, sample_bytes);
            copy_channels({row_.data(), channels, part.extent.w}, sample_bytes, first, to.channels, to.row(y));
        }
    }

    OpenedFile file_;
    NpyHeader header_;
    ImageMetadata metadata_;  // always empty: the format holds no metadata
    std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<ImageFile> open_npy(OpenedFile file) {
    const NpyHeader header = read_npy_header(*file);
    return std::make_unique<NpyFile>(std::move(file), header);
}

std::unique_ptr<ImageFile> open_raw_image(const std::filesystem::path& file, const ImageInfo& info) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const auto samples = static_cast<uint64_t>(info.extent.pixels() * (info.channels + (info.has_alpha ? 1 : 0)));
    const uint64_t bytes = size_of(info.dtype);
    if (opened->size() % bytes != 0 || opened->size() / bytes != samples)  // a product could exceed 64 bits
        opened->refuse(fmt::format("this shape has {} samples of {} bytes, but the file has {} bytes", samples, bytes,
                                   opened->size()),
                       "check height, width, channels and type");
    return std::make_unique<NpyFile>(std::move(opened), NpyHeader{info});
}

}  // namespace pb::image
