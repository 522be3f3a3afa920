#include "run/reference_path.hpp"

#include "patchbench/run/run_window.hpp"

#include <algorithm>
#include <cstring>

namespace pb {

namespace {

EngineOptions serial_options(DeviceId device, int threads) {
    EngineOptions options;
    options.device = device;
    options.precision = Precision::fp32;
    options.layout = Layout::contiguous;
    options.threads = threads;
    return options;
}

}  // namespace

ReferencePath::ReferencePath(const Weights& weights, DeviceId device, int threads, const Conversion& conversion,
                             ImageSource& source)
    : device_(device),
      conversion_(conversion),
      source_(source),
      stream_(device),
      denoiser_(make_denoiser(weights, serial_options(device, threads))) {}

Image ReferencePath::read_padded(const Rect& seen) {
    Rect inside = seen;
    inside.extent.h = std::min(seen.extent.h, source_.extent().h - seen.row);
    inside.extent.w = std::min(seen.extent.w, source_.extent().w - seen.column);
    Image part = source_.read_noisy(inside);
    if (inside == seen) return part;
    Image padded(seen.extent, part.channels(), DType::f32);
    Slab slab{part.bytes().data(), inside.extent, {0, inside.extent.h}, part.channels(), DType::f32};
    cut_window(slab, {0, 0, seen.extent}, padded.bytes().data());
    return padded;
}

Image ReferencePath::run(const Rect& seen) {
    return run_window(*denoiser_, read_padded(seen), conversion_, device_, stream_);
}

Image ReferencePath::run_with_context(const Rect& wanted, int64_t context, Extent padded) {
    const int64_t top = std::max<int64_t>(0, wanted.row - context);
    const int64_t left = std::max<int64_t>(0, wanted.column - context);
    const int64_t bottom = std::min(padded.h, wanted.row + wanted.extent.h + context);
    const int64_t right = std::min(padded.w, wanted.column + wanted.extent.w + context);
    const Rect seen{top, left, {bottom - top, right - left}};
    return crop(run(seen), seen, wanted);
}

Image crop(const Image& image, const Rect& origin, const Rect& part) {
    Image cropped(part.extent, image.channels(), image.dtype());
    const ImageView from = image.view();
    for (int64_t y = 0; y < part.extent.h; ++y)
        std::memcpy(
            cropped.view().row(y),
            from.row(part.row - origin.row + y) + static_cast<size_t>(part.column - origin.column) * from.pixel_bytes(),
            cropped.row_bytes());
    return cropped;
}

}  // namespace pb
