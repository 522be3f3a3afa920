#include "run/point/point_options.hpp"

#include "base/engine_support.hpp"
#include "base/text.hpp"
#include "comm/interruption.hpp"
#include "config/call_times.hpp"
#include "config/text.hpp"
#include "plan/memory_limit.hpp"

#include <fmt/format.h>

namespace pb::run {

namespace {

/// Used when the training noise level of the weights is unknown.
void leave_sigma_unused(plan::Point& point, const engine::Weights& weights) {
    point.uses_sigma = false;
    point.sigma_note = weights.trained ? "sigma has no effect: the noise level that " + weights.source +
                                             " was trained for is unknown; state it with trained_sigma (denoise: "
                                             "--trained-sigma) or as sigma_train in the metadata of a .safetensors "
                                             "or ONNX file, unless it was trained for a range"
                                       : "sigma has no effect: " + weights.source + " is not trained";
    if (weights.trained) point.notes.push_back(point.sigma_note);
}

/// A network extrapolates beyond the levels of its training: it leaves noise, or invents detail.
void warn_beyond_training(plan::Point& point, const engine::Weights& weights) {
    if (!weights.most_sigma || point.sigma <= *weights.most_sigma) return;
    point.sigma_note = fmt::format("{} was trained for noise up to {:g}, not {:.3g}: expect noise that is left",
                                   weights.source, *weights.most_sigma, point.sigma);
    point.notes.push_back(point.sigma_note);
}

/// The input is scaled up to the level of the training, and the details of the image with it: a network smooths away
/// those that are smaller than its noise. At a fifth PSNR still rises (models/README.md).
std::string far_below_training(double sigma, double trained_sigma) {
    constexpr double kFar = 5.01;
    if (sigma == 0 || trained_sigma <= kFar * sigma) return "";
    return fmt::format(
        "the weights were trained for noise of {:g}, far above {:.3g}: details are smoothed away; take "
        "weights for such noise, or of DRUNet",
        trained_sigma, sigma);
}

int threads_of_rank(const config::PointSettings& settings, const plan::RankPlace& place) {
    return settings.threads.is_automatic() ? place.threads : static_cast<int>(settings.threads.count);
}

}  // namespace

device::Conversion conversion_for(const plan::Point& point, const engine::Weights& weights) {
    device::Conversion conversion;
    const double white = weights.card ? weights.card->range : 1;
    conversion.gain = static_cast<float>(white);
    if (point.facts().takes_sigma)
        conversion.sigma = static_cast<float>(white * point.sigma);
    else if (weights.trained_sigma && point.sigma > 0)
        conversion.gain = static_cast<float>(white * *weights.trained_sigma / point.sigma);
    return conversion;
}

void settle_sigma(plan::Point& point, const engine::Weights& weights) {
    if (point.facts().takes_sigma) return warn_beyond_training(point, weights);
    if (!weights.trained_sigma) return leave_sigma_unused(point, weights);
    if (weights.replaced_sigma) {
        point.sigma_note = "trained_sigma = " + config::format_setting(*weights.trained_sigma) + " is used, though " +
                           weights.source + " was trained for " + config::format_setting(*weights.replaced_sigma);
        point.notes.push_back(point.sigma_note);
    }
    const std::string far = far_below_training(point.sigma, *weights.trained_sigma);
    if (far.empty()) return;
    point.notes.push_back(far);
    add_item(point.sigma_note, far, "; note: ");
}

engine::EngineOptions engine_options(const plan::Point& point, const plan::RankPlace& place) {
    const config::PointSettings& settings = point.settings;
    engine::EngineOptions options;
    options.engine = settings.engine;
    options.device = place.device;
    options.precision = settings.dtype;
    options.layout = settings.layout;
    options.threads = threads_of_rank(settings, place);
    options.cudnn_benchmark = settings.cudnn_benchmark;
    options.cuda_graph = settings.cuda_graph;
    options.fusion = plan::is_fused(point);
    options.winograd_tile = plan::winograd_tile(point);
    options.worker = {.file = settings.engine.file,
                      .options = settings.worker.options,
                      .timeout_s = settings.protocol.worker_timeout_s,
                      .memory_limit_bytes = settings.memory_limit_mib * 1024 * 1024,
                      .interrupt = comm::stop_if_interrupted};
    return options;
}

PipelineOptions pipeline_options(const plan::Point& point, const plan::RankPlace& place,
                                 const device::Conversion& conversion) {
    const config::PointSettings& settings = point.settings;
    return {place.device,
            storage_of(settings.engine, settings.dtype),
            settings.layout,
            conversion,
            settings.slots,
            settings.overlap,
            copy_threads_of(place.device, threads_of_rank(settings, place))};
}

CallSeconds call_seconds(const config::TimedSettings& timed, int rank) {
    const double factor = rank == timed.slow_rank ? timed.slow_factor : 1;
    return [times = config::CallTimes(timed), factor](int64_t batch) { return factor * times.seconds(batch); };
}

}  // namespace pb::run
