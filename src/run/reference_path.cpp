#include "run/reference_path.hpp"

#include "patchbench/engine/memory.hpp"

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
    Image window = read_padded(seen);
    const int64_t channels = window.channels();
    const Shape shape{1, channels, seen.extent.h, seen.extent.w};
    const Shape in_shape{1, channels + (conversion_.sigma ? 1 : 0), seen.extent.h, seen.extent.w};
    const EngineBuffer samples(device_, window.bytes().size());
    const EngineBuffer in(device_, static_cast<size_t>(in_shape.elements()) * sizeof(float));
    const EngineBuffer out(device_, static_cast<size_t>(shape.elements()) * sizeof(float));
    const BatchView samples_view{samples.pointer(), shape, DType::f32, Layout::channels_last, device_};
    const BatchView in_view{in.pointer(), in_shape, DType::f32, Layout::contiguous, device_};
    const BatchView out_view{out.pointer(), shape, DType::f32, Layout::contiguous, device_};

    copy_to_device(samples.pointer(), window.bytes().data(), window.bytes().size(), stream_);
    samples_to_network(samples_view, in_view, conversion_, stream_);
    denoiser_->prepare(in_view, out_view, stream_);
    denoiser_->forward(in_view, out_view, stream_);
    network_to_samples(out_view, samples_view, conversion_, stream_);
    copy_to_host(window.bytes().data(), samples.pointer(), window.bytes().size(), stream_);
    stream_.synchronise();
    return window;
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
