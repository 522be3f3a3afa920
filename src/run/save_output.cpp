#include "run/save_output.hpp"

#include "run/file_output.hpp"

namespace pb {

void save_output(const Slab& output, ImageSource& source, const PointFiles& files) {
    ImageView pixels = output.part({0, 0, output.image});
    ImageFile* original = source.file();
    const ImageInfo info = info_to_save(source);
    Image converted;
    if (info.dtype != output.dtype) {
        converted = Image(output.image, output.channels, info.dtype);
        from_float(pixels, converted.view());
        pixels = converted.view();
    }
    Image alpha;
    if (info.has_alpha) alpha = original->read_alpha();
    const ImageMetadata metadata = metadata_to_save(source, files.compression);
    if (files.compression.value_or(Compression::none) == Compression::none)
        return save_image({pixels, alpha.view(), &metadata, info.has_channel_axis}, files.image);
    PlacedImage placed(info, &metadata, files.image, *files.compression);
    PixelWriter(placed.temporary_name(), info, files.image).write(0, 0, pixels, alpha.view());
    placed.commit();
}

}  // namespace pb
