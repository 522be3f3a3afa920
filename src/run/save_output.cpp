#include "run/save_output.hpp"

namespace pb {

void save_output(const Slab& output, ImageSource& source, const std::filesystem::path& file) {
    ImageView pixels = output.part({0, 0, output.image});
    ImageFile* original = source.file();
    const DType type = original == nullptr ? DType::u8 : original->info().dtype;
    Image converted;
    if (type != output.dtype) {
        converted = Image(output.image, output.channels, type);
        from_float(pixels, converted.view());
        pixels = converted.view();
    }
    const bool same_extent = original != nullptr && original->info().extent == output.image;
    Image alpha;
    if (same_extent && original->info().has_alpha) alpha = original->read_alpha();
    save_image(
        {.pixels = pixels, .alpha = alpha.view(), .metadata = original == nullptr ? nullptr : &original->metadata()},
        file);
}

}  // namespace pb
