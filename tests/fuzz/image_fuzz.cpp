// .npy, TIFF, PNG and JPEG: a window in each corner and in the middle, then alpha where the image is small.
#include "fuzz/memory_file.hpp"

#include "patchbench/image/image_file.hpp"

#include <algorithm>

namespace {

void read_window(pb::ImageFile& file, const pb::Rect& window) {
    pb::Image image(window.extent, file.info().channels, file.info().dtype);
    file.read(window, image.view());
}

void read_windows(const std::filesystem::path& path) {
    constexpr int64_t kEdge = 24, kSmall = 1 << 20;
    const auto file = pb::open_image(path);
    const pb::Extent extent = file->info().extent;
    const pb::Extent window{std::min(kEdge, extent.h), std::min(kEdge, extent.w)};
    const int64_t bottom = extent.h - window.h, right = extent.w - window.w;
    for (const int64_t row : {int64_t{0}, bottom / 2, bottom})
        for (const int64_t column : {int64_t{0}, right / 2, right}) read_window(*file, {row, column, window});
    if (extent.h * extent.w <= kSmall) (void)file->read_alpha();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, read_windows);
    return 0;
}
