// Denoises one image on one rank without MPI, with the pipeline that the program measures.
#include "base/text.hpp"
#include "device/processors.hpp"
#include "engine/engines.hpp"
#include "image/noise_level.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/point_options.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/denoise.hpp"
#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace pb {

namespace {

bool is_noise_level(double sigma) { return sigma >= network::kSmallestSigma && sigma <= 1; }

engine::Weights load(const WeightsFile& file) {
    engine::Weights weights = engine::load_weights(file.path, file.network);
    if (!file.trained_sigma) return weights;
    if (!is_noise_level(*file.trained_sigma))
        throw UsageError(
            fmt::format("trained_sigma = {}: must be from {} to 1", *file.trained_sigma, network::kSmallestSigma));
    weights.trained_sigma = file.trained_sigma;
    return weights;
}

engine::Weights load(const UntrainedNetwork& network) {
    try {
        return engine::make_seeded_weights(network.shape, network.seed);
    } catch (const OutOfMemory&) {
        throw;
    } catch (const Error& error) {  // no network has this shape
        throw UsageError(error.what());
    }
}

/// The first value that is not finite; none: all are.
std::optional<int64_t> find_not_finite(std::span<const float> values) {
    const auto odd = std::ranges::find_if_not(values, [](float value) { return std::isfinite(value); });
    return odd == values.end() ? std::nullopt : std::optional(odd - values.begin());
}

std::span<const float> values_of(const FloatImageView& image) {
    return {image.values, static_cast<size_t>(image.extent.pixels() * image.channels)};
}

void check_extent(const FloatImageView& image) {
    constexpr int64_t kMostPixels = int64_t{1} << 30;  // of an edge
    const auto [height, width] = image.extent;
    if (std::min(height, width) < 1 || std::max(height, width) > kMostPixels)
        throw UsageError(
            fmt::format("the image has {} x {} pixels: must be 1 to {} along each axis", height, width, kMostPixels));
    if (image.values == nullptr) throw UsageError("the image has no values: its pointer is null");
}

void check_device(const DeviceId& device) {
    if (!device.is_cuda() && device.index != 0)
        throw UsageError(fmt::format("device = cpu {}: the CPU is number 0", device.index));
    const auto count = static_cast<int>(device::visible_cuda_devices().size());
    if (!device.is_cuda() || (device.index >= 0 && device.index < count)) return;
    throw UsageError(fmt::format("device = cuda {}: there are {}; use the CPU", device.index,
                                 count == 0 ? fmt::format("no CUDA devices ({})", device::why_no_cuda_device())
                                            : fmt::format("{}, from 0", counted(count, "CUDA device"))));
}

void check(const FloatImageView& image, const engine::Weights& weights, const DenoiseOptions& options) {
    if (weights.channels() != image.channels)
        throw UsageError(fmt::format("weights '{}' are for {}, the image has {}: name others", weights.source,
                                     counted(weights.channels(), "image channel"), image.channels));
    if (options.sigma && *options.sigma != 0 && !is_noise_level(*options.sigma))
        throw UsageError(
            fmt::format("sigma = {}: must be 0, or from {} to 1", *options.sigma, network::kSmallestSigma));
    if (!options.sigma && std::min(image.extent.h, image.extent.w) < 2)
        throw UsageError("sigma is not given, and the noise of an image of less than 2 x 2 pixels is unknown");
    const int64_t most = plan::kMostThreadsPerCore * std::max<int64_t>(1, std::ssize(device::affinity()));
    if (options.threads < 0 || options.threads > most)
        throw UsageError(fmt::format("threads = {}: must be from 1 to {}, or 0 for all", options.threads, most));
    if (const auto odd = find_not_finite(values_of(image)))
        throw UsageError(
            fmt::format("value {} of the image is not finite: replace it by one of its surroundings", *odd));
}

PixelView view_of(const FloatImageView& image) {
    return dense_view(reinterpret_cast<const std::byte*>(image.values), image.extent, image.channels, DType::f32);
}

/// As `patchbench denoise` finds it.
double find_sigma(const FloatImageView& image) {
    const double sigma = image::find_noise(view_of(image).part(image::noise_region(image.extent))).sigma;
    if (sigma > 1)
        throw UsageError(fmt::format(
            "sigma is not given, and the noise of the image seems to be {:.4g}, more than 1: are its values in [0,1]?",
            sigma));
    return std::max(network::kSmallestSigma, sigma);
}

plan::Point make_point(const FloatImageView& image, const engine::Weights& weights, const DenoiseOptions& options) {
    plan::Point point;
    point.settings.network = weights.kind();
    point.settings.dtype = options.precision;
    point.settings.patch = options.patch;
    point.source = {image.extent, image.channels, DType::f32};
    point.relative = weights.shape;
    point.device = options.device.kind;
    point.sigma = options.sigma ? *options.sigma : find_sigma(image);
    plan::settle_halo(point, options.halo.value_or(point.facts().exact_halo));
    plan::settle_batch(point, options.batch);
    point.multiplies_bf16 = engine::native_multiplies_bf16();
    point.settings.engine = plan::fastest_engine(point);
    point.settings.layout = plan::fastest_layout(point);
    return point;
}

run::Slab slab_of(float* values, const FloatImageView& image) {
    return {dense_view(reinterpret_cast<std::byte*>(values), image.extent, image.channels, DType::f32), image.extent};
}

}  // namespace

FloatImage denoise(const FloatImageView& image, const DenoiseOptions& options) {
    check_extent(image);
    check_device(options.device);
    const engine::Weights weights = std::visit([](const auto& network) { return load(network); }, options.network);
    check(image, weights, options);
    const plan::Point point = make_point(image, weights, options);
    const run::Work work = run::make_work(point, 0);
    device::select_device(options.device);
    const plan::RankPlace place{.device = options.device,
                                .threads = options.threads > 0 ? options.threads : device::usable_processors()};
    const auto denoiser = engine::make_denoiser(weights, run::engine_options(point, place));
    const auto pipeline =
        run::make_pipeline(*denoiser, work, run::pipeline_options(point, place, run::conversion_for(point, weights)),
                           image.channels, DType::f32);
    FloatImage denoised{std::vector<float>(static_cast<size_t>(image.extent.pixels() * image.channels)), image.extent,
                        image.channels};
    run::MemoryWindows windows(slab_of(const_cast<float*>(image.values), image));  // NOLINT: windows are only read
    run::MemorySink output(slab_of(denoised.values.data(), image));
    run::BatchQueue batches(work.batches());
    batches.begin_pass();
    run::PassLog log;
    pipeline->pass(batches, windows, output, log);
    if (const auto odd = find_not_finite(denoised.values))
        throw Error(fmt::format(
            "value {} of the output is not finite: the image has values far outside of [0,1], or the weights are not "
            "those of a denoiser{}",
            *odd, options.precision == Precision::fp32 ? "" : ", or the precision is too low"));
    return denoised;
}

}  // namespace pb
