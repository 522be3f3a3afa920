// Denoises one image on one rank without MPI, with the pipeline that the program measures.
#include "base/text.hpp"
#include "device/processors.hpp"
#include "engine/engines.hpp"
#include "image/quality.hpp"
#include "run/pipeline/pipeline.hpp"
#include "run/point/point_options.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/denoise.hpp"
#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb {

namespace {

engine::Weights load(const WeightsFile& file) {
    engine::Weights weights = engine::load_weights(file.path, file.network);
    if (file.trained_sigma) weights.trained_sigma = file.trained_sigma;
    return weights;
}

engine::Weights load(const UntrainedNetwork& network) {
    return engine::make_seeded_weights(network.shape, network.seed);
}

void check_values(const FloatImageView& image) {
    if (image.values == nullptr) throw UsageError("the image has no values: its pointer is null");
    const int64_t count = image.extent.pixels() * image.channels;
    const float* const end = image.values + count;
    const float* const odd = std::find_if_not(image.values, end, [](float value) { return std::isfinite(value); });
    if (odd != end)
        throw UsageError(fmt::format("value {} of the image is not finite: replace it by one of its surroundings",
                                     odd - image.values));
}

void check(const FloatImageView& image, const engine::Weights& weights, const DenoiseOptions& options) {
    if (weights.channels() != image.channels)
        throw UsageError(fmt::format("weights '{}' are for {}, the image has {}: name others", weights.source,
                                     counted(weights.channels(), "image channel"), image.channels));
    if (options.sigma && !(*options.sigma >= 0 && *options.sigma <= 1))
        throw UsageError(fmt::format("sigma = {}: must be from 0 to 1", *options.sigma));
    const int64_t most = plan::kMostThreadsPerCore * std::max<int64_t>(1, std::ssize(device::affinity()));
    if (options.threads < 0 || options.threads > most)
        throw UsageError(fmt::format("threads = {}: must be from 1 to {}, or 0 for all", options.threads, most));
    const auto num_cuda_devices = static_cast<int>(device::visible_cuda_devices().size());
    if (options.device.is_cuda() && (options.device.index < 0 || options.device.index >= num_cuda_devices))
        throw UsageError(fmt::format("device = cuda {}: there are {} {}; use the CPU", options.device.index,
                                     num_cuda_devices, device::why_no_cuda_device()));
    check_values(image);
}

PixelView view_of(const FloatImageView& image) {
    return dense_view(reinterpret_cast<const std::byte*>(image.values), image.extent, image.channels, DType::f32);
}

plan::Point make_point(const FloatImageView& image, const engine::Weights& weights, const DenoiseOptions& options) {
    plan::Point point;
    point.settings.network = weights.kind();
    point.settings.dtype = options.precision;
    point.settings.patch = options.patch;
    point.source = {image.extent, image.channels, DType::f32};
    point.relative = weights.shape;
    point.device = options.device.kind;
    point.sigma =
        options.sigma ? *options.sigma : std::max(network::kSmallestSigma, image::estimate_noise(view_of(image)));
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
    return denoised;
}

}  // namespace pb
