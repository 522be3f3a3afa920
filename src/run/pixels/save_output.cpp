#include "run/pixels/save_output.hpp"

#include "run/pixels/file_sink.hpp"

namespace pb::run {

namespace {

/// Converts a few rows at a time, because gaps are read again from the input.
image::Image stored_image(const Slab& output, ImageSource& source, DType type) {
    constexpr int64_t kRows = 256;
    image::Image stored(output.image, output.pixels.channels, type);
    for (int64_t row = 0; row < output.image.h; row += kRows) {
        const Rect part{row, 0, {std::min(kRows, output.image.h - row), output.image.w}};
        source.to_stored(part, output.part(part), stored.view().part(part));
    }
    return stored;
}

}  // namespace

void save_output(const Slab& output, ImageSource& source, const PointFiles& files) {
    PixelView pixels = output.part({0, 0, output.image});
    image::ImageFile* original = source.file();
    const image::ImageInfo info = source.stored_info();
    image::Image stored;
    if (info.dtype != output.pixels.dtype || source.map() != nullptr) {
        stored = stored_image(output, source, info.dtype);
        pixels = stored.view();
    }
    if (files.take) return files.take(pixels);
    image::Image alpha;
    if (info.has_alpha) alpha = original->read_alpha();
    const image::ImageMetadata metadata = metadata_to_save(source, files.compression);
    image::save_image({pixels, alpha.view(), &metadata, info.has_channel_axis}, files.image,
                      files.compression.value_or(image::Compression::none));
}

}  // namespace pb::run
