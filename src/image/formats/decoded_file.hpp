// An image file of a format that can only be decoded as a whole (PNG, JPEG, WebP). The first read decodes it; every
// read copies its part from the decoded image.
#pragma once

#include "image/formats/formats.hpp"

#include <functional>
#include <utility>

namespace pb::image {

class DecodedFile final : public ImageFile {
  public:
    /// Decodes the whole file into an image that has alpha as its last channel. It is called at most once.
    using Decode = std::function<void(const RandomAccessFile&, Image&)>;

    DecodedFile(OpenedFile file, const ImageInfo& info, ImageMetadata metadata, Decode decode)
        : file_(std::move(file)), info_(info), metadata_(std::move(metadata)), decode_(std::move(decode)) {}

    [[nodiscard]] const ImageInfo& info() const override { return info_; }
    [[nodiscard]] const ImageMetadata& metadata() const override { return metadata_; }
    [[nodiscard]] bool windowed() const override { return false; }

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override {
        decode();
        copy_bands(image_.view().part(part), first, to.channels, to, 0);
    }

    void decode() {
        if (!image_.empty()) return;
        Image decoded(info_.extent, info_.stored_channels(), info_.dtype);
        decode_(*file_, decoded);
        image_ = std::move(decoded);
    }

    OpenedFile file_;
    ImageInfo info_;
    ImageMetadata metadata_;
    Decode decode_;
    Image image_;
};

}  // namespace pb::image
