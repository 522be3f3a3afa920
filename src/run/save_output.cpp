#include "run/save_output.hpp"

#include "run/file_output.hpp"

namespace pb {

void save_output(const Slab& output, ImageSource& source, const std::filesystem::path& file) {
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
    save_image(
        {.pixels = pixels, .alpha = alpha.view(), .metadata = original == nullptr ? nullptr : &original->metadata()},
        file);
}

}  // namespace pb
