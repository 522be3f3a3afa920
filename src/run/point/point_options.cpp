#include "run/point/point_options.hpp"

#include "base/engine_precision.hpp"
#include "comm/interruption.hpp"
#include "config/call_times.hpp"
#include "plan/winograd.hpp"

namespace pb::run {

engine::EngineOptions engine_options(const plan::Point& point, const plan::RankPlace& place) {
    const config::PointSettings& settings = point.settings;
    engine::EngineOptions options;
    options.engine = settings.engine;
    options.device = place.device;
    options.precision = settings.dtype;
    options.layout = settings.layout;
    options.threads = settings.threads.is_automatic() ? place.threads : static_cast<int>(settings.threads.count);
    options.cudnn_benchmark = settings.cudnn_benchmark;
    options.cuda_graph = settings.cuda_graph;
    options.fusion = plan::is_fused(settings, place.device.kind);
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
    return {place.device,    storage_of(settings.engine, settings.dtype), settings.layout, conversion, settings.slots,
            settings.overlap};
}

CallSeconds call_seconds(const config::TimedSettings& timed, int rank) {
    const double factor = rank == timed.slow_rank ? timed.slow_factor : 1;
    return [times = config::CallTimes(timed), factor](int64_t batch) { return factor * times.seconds(batch); };
}

}  // namespace pb::run
