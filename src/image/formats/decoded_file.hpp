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
        copy_bands(image_.view().part(part), first, to.channels, to, 0);
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
