#include "run/verify/reference_path.hpp"

#include "base/engine_support.hpp"
#include "comm/interruption.hpp"
#include "engine/memory.hpp"
#include "engine/network_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

template <class Sample>
void scale_to_unit(const image::Image& samples, double full, float* unit) {
    const int64_t count = samples.num_samples();
    for (int64_t i = 0; i < count; ++i)
        unit[i] = static_cast<float>(static_cast<double>(samples.as<Sample>()[i]) / full);
}

/// Another engine that runs the same file; nothing where there is none.
std::optional<EngineKind> other_engine(EngineKind engine, const std::string& file) {
    for (const EngineKind other : engines_of_file(file))
        if (other != engine && engine::is_installed(other)) return other;
    return std::nullopt;
}

}  // namespace

ReferenceEngine make_custom_reference(const engine::Weights& weights, engine::EngineOptions options,
                                      const MakeEngine& make) {
    options.layout = Layout::contiguous;
    options.precision = Precision::fp32;
    options.cuda_graph = false;
    options.worker.memory_limit_bytes = 0;  // the limit is for the engine that is measured
    const std::string own(name_of(options.engine));
    std::string reason = "no other engine that runs it is installed";
    if (const auto other = other_engine(options.engine, weights.source)) {
        engine::EngineOptions with_other = options;
        with_other.engine = *other;
        try {
            return {make(with_other),
                    fmt::format("{}: verified against {}, one window at a time", weights.source, name_of(*other))};
        } catch (const OutOfMemory&) {
            throw;
        } catch (const Interrupted&) {
            throw;
        } catch (const Error& error) {
            reason = error.what();
        }
    }
    return {make(options), fmt::format("{}: verified against {} itself, one window at a time, and no other engine ({})",
                                       weights.source, own, reason)};
}

engine::EngineOptions reference_options(DeviceId device, int threads, EngineKind pipeline) {
    const bool has_others_kernels = device.is_cuda() || pipeline == EngineKind::torch;
    engine::EngineOptions options;
    options.device = device;
    options.precision = Precision::fp32;
    options.layout = has_others_kernels ? Layout::contiguous : Layout::channels_last;
    options.threads = threads;
    return options;
}

bool can_crop(const engine::Weights& weights, DeviceKind device) {
    return weights.has_layers() && device == DeviceKind::cpu;
}

network::WindowCrop crop_to(const network::Graph& graph, Extent window, const Rect& core) {
    return {graph,
            window,
            {{core.row, core.row + core.extent.h}},
            {{core.column, core.column + core.extent.w}},
            {network::ComputedUnit::pixel, network::kOnednnPath}};
}

ReferencePath::ReferencePath(const engine::Weights& weights, std::shared_ptr<engine::Denoiser> denoiser, Layout layout,
                             DeviceId device, double sigma, ImageSource& source)
    : weights_(weights),
      layout_(layout),
      device_(denoiser->takes_host_memory() ? DeviceId{} : device),
      source_(source),
      reach_(reach_of(weights)),
      stream_(device_),
      denoiser_(std::move(denoiser)) {
    const double white = weights.card ? weights.card->range : 1;
    gain_ = white;
    if (reach_.takes_sigma)
        sigma_ = static_cast<float>(white * sigma);
    else if (weights.trained_sigma && sigma > 0)
        gain_ = white * *weights.trained_sigma / sigma;
}

/// Reads integers as the file's own samples, so that their scaling does not depend on the pipeline's readers.
image::Image ReferencePath::read(const Rect& inside) {
    if (source_.dtype() != DType::u8 && source_.dtype() != DType::u16) return source_.read_noisy(inside);
    image::Image samples(inside.extent, source_.channels(), source_.dtype());
    source_.read(inside, samples.view());
    image::Image unit(inside.extent, source_.channels(), DType::f32);
    if (source_.dtype() == DType::u8)
        scale_to_unit<uint8_t>(samples, 255, unit.as<float>());
    else
        scale_to_unit<uint16_t>(samples, 65535, unit.as<float>());
    return unit;
}

size_t ReferencePath::place(int64_t channel, int64_t pixel, int64_t channels, int64_t pixels) const {
    return static_cast<size_t>(layout_ == Layout::contiguous ? channel * pixels + pixel : pixel * channels + channel);
}

/// Beyond the image, its last row and column are repeated.
std::vector<float> ReferencePath::network_input(const Rect& seen) {
    const Rect inside = intersection(seen, {0, 0, source_.extent()});
    const image::Image part = read(inside);
    const int64_t channels = part.channels(), all_channels = channels + (sigma_ ? 1 : 0), pixels = seen.extent.pixels();
    std::vector<float> input(static_cast<size_t>(all_channels * pixels), sigma_.value_or(0));
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t y = 0; y < seen.extent.h; ++y)
            for (int64_t x = 0; x < seen.extent.w; ++x) {
                const int64_t pixel =
                    std::min(y, inside.extent.h - 1) * inside.extent.w + std::min(x, inside.extent.w - 1);
                input[place(c, y * seen.extent.w + x, all_channels, pixels)] =
                    static_cast<float>(gain_ * part.as<float>()[pixel * channels + c]);
            }
    return input;
}

/// Whole windows are computed as a whole: those that an engine has cropped are compared with them.
void ReferencePath::forward(const BatchView& in, const BatchView& out, const Rect& core) {
    const Extent window{in.shape.h, in.shape.w};
    if (core.extent != window && can_crop(weights_, device_.kind)) {
        const network::WindowCrop crop = crop_to(weights_.graph(), window, core);
        if (const auto pass = denoiser_->make_crop_pass(crop, 1, stream_)) return pass->run(in, out, {&core, 1});
    }
    denoiser_->forward(in, out, stream_);
}

image::Image ReferencePath::run(const Rect& seen) { return compute(seen, {0, 0, seen.extent}); }

image::Image ReferencePath::compute(const Rect& seen, const Rect& core) {
    comm::stop_if_interrupted();
    const std::vector<float> input = network_input(seen);
    const auto [height, width] = seen.extent;
    const int64_t channels = source_.channels();
    std::vector<float> output(static_cast<size_t>(channels * seen.extent.pixels()));
    const engine::EngineBuffer in(device_, input.size() * sizeof(float)), out(device_, output.size() * sizeof(float));
    const BatchView in_view{
        in.pointer(), {1, channels + (sigma_ ? 1 : 0), height, width}, DType::f32, layout_, device_};
    const BatchView out_view{out.pointer(), {1, channels, height, width}, DType::f32, layout_, device_};
    device::copy_to_device(in.pointer(), input.data(), input.size() * sizeof(float), stream_);
    forward(in_view, out_view, core);
    device::copy_to_host(output.data(), out.pointer(), output.size() * sizeof(float), stream_);
    stream_.synchronise();

    image::Image image(seen.extent, channels, DType::f32);
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t pixel = 0; pixel < seen.extent.pixels(); ++pixel)
            image.as<float>()[pixel * channels + c] =
                static_cast<float>(output[place(c, pixel, channels, seen.extent.pixels())] / gain_);
    MutablePixelView inside = image.view();
    const Rect in_image = intersection(seen, {0, 0, source_.extent()});
    inside.extent = in_image.extent;
    source_.restore_gaps(in_image, inside);
    return image;
}

image::Image ReferencePath::run_with_context(const Rect& wanted, int64_t context, Extent padded) {
    const int64_t top = std::max<int64_t>(0, wanted.row - context);
    const int64_t left = std::max<int64_t>(0, wanted.column - context);
    const auto end_of = [&](int64_t end,
                            int64_t most) {  // extents leave the remainder of the image's (Note [Inward windows])
        return std::min(most, round_up(end, reach_.alignment) + context + most % reach_.alignment);
    };
    const int64_t bottom = end_of(wanted.row + wanted.extent.h, padded.h);
    const int64_t right = end_of(wanted.column + wanted.extent.w, padded.w);
    const Rect seen{top, left, {bottom - top, right - left}};
    const Rect core{wanted.row - top, wanted.column - left, wanted.extent};
    return crop(compute(seen, core), seen, wanted);
}

image::Image crop(const image::Image& image, const Rect& origin, const Rect& part) {
    image::Image cropped(part.extent, image.channels(), image.dtype());
    const Rect inside{part.row - origin.row, part.column - origin.column, part.extent};
    image::copy_bands(image.view().part(inside), 0, image.channels(), cropped.view(), 0);
    return cropped;
}

}  // namespace pb::run
