#include "run/pixels/preview.hpp"

#include <algorithm>

namespace pb::run {

namespace {

namespace fs = std::filesystem;

Rect centre_of(Extent image, int64_t edge) {
    const Extent extent{std::min(image.h, edge), std::min(image.w, edge)};
    return {(image.h - extent.h) / 2, (image.w - extent.w) / 2, extent};
}

/// Returns the name of the file, relative to the folder of the results.
std::string save_picture(const image::Image& picture, const PointFiles& files, const char* which) {
    image::Image bytes(picture.extent(), picture.channels(), DType::u8);
    image::from_float(picture.view(), bytes.view());
    std::string name = files.preview + "-" + which + ".png";
    image::save_image({.pixels = bytes.view(), .alpha = {}}, files.folder / name);
    return name;
}

}  // namespace

record::Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge, const PointFiles& files) {
    fs::create_directories((files.folder / files.preview).parent_path());
    record::Preview preview;
    preview.part = centre_of(output.extent(), edge);
    preview.denoised_file = save_picture(output.read(preview.part), files, "denoised");
    preview.noisy_file = save_picture(source.read_noisy(preview.part), files, "noisy");
    if (source.clean_is_known()) preview.clean_file = save_picture(source.read_clean(preview.part), files, "clean");
    return preview;
}

}  // namespace pb::run
