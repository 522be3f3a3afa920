// An image file of a format that can only be decoded as a whole (PNG, JPEG, WebP). The first read decodes it; every
// read copies its part from the decoded image.
#pragma once

#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"

#include <functional>
#include <utility>

namespace pb::image {

class DecodedFile final : public ImageFile {
  public:
    /// Decodes the whole file. It is called at most once.
    using Decode = std::function<void(const RandomAccessFile&, InterleavedImage&)>;

    DecodedFile(OpenedFile file, const ImageInfo& info, ImageMetadata metadata, Decode decode)
        : file_(std::move(file)), metadata_(std::move(metadata)), decode_(std::move(decode)) {
        image_.info = info;
    }

    [[nodiscard]] const ImageInfo& info() const override { return image_.info; }
    [[nodiscard]] const ImageMetadata& metadata() const override { return metadata_; }
    [[nodiscard]] bool windowed() const override { return false; }

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override {
        decode();
        for (int64_t y = 0; y < part.extent.h; ++y)
            copy_channels(image_.row_part(part.row + y, part.column, part.extent.w), size_of(info().dtype), first,
                          to.channels, to.row(y));
    }

    void decode() {
        if (!image_.samples.empty()) return;
        InterleavedImage decoded{info(), {}};
        decoded.samples.resize(decoded.row_bytes() * static_cast<size_t>(info().extent.h));
        decode_(*file_, decoded);
        image_ = std::move(decoded);
    }

    OpenedFile file_;
    ImageMetadata metadata_;
    Decode decode_;
    InterleavedImage image_;
};

}  // namespace pb::image
