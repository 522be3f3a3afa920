#include "run/pixels/preview.hpp"

#include <algorithm>

namespace pb {

namespace {

namespace fs = std::filesystem;

Rect centre_of(Extent image, int64_t edge) {
    const Extent extent{std::min(image.h, edge), std::min(image.w, edge)};
    return {(image.h - extent.h) / 2, (image.w - extent.w) / 2, extent};
}

/// Returns the name of the file, relative to the folder of the results.
std::string save_picture(const Image& picture, const PointFiles& files, const char* which) {
    Image bytes(picture.extent(), picture.channels(), DType::u8);
    from_float(picture.view(), bytes.view());
    std::string name = files.preview + "-" + which + ".png";
    save_image({.pixels = bytes.view(), .alpha = {}}, files.folder / name);
    return name;
}

}  // namespace

Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge, const PointFiles& files) {
    fs::create_directories((files.folder / files.preview).parent_path());
    Preview preview;
    preview.part = centre_of(output.extent(), edge);
    preview.denoised_file = save_picture(output.read(preview.part), files, "denoised");
    preview.noisy_file = save_picture(source.read_noisy(preview.part), files, "noisy");
    if (source.clean_is_known()) preview.clean_file = save_picture(source.read_clean(preview.part), files, "clean");
    return preview;
}

}  // namespace pb
