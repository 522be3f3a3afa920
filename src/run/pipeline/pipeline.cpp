#include "run/pipeline/pipeline.hpp"

#include "engine/memory.hpp"
#include "run/pipeline/row_device.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

int64_t peak_allocated_bytes(const Pipeline& pipeline, DeviceId device) {
    const auto counters = engine::allocator_counters(device);
    return std::max(counters.peak_allocated_bytes, counters.allocated_bytes + pipeline.replay_bytes());
}

std::unique_ptr<Pipeline> make_pipeline(engine::Denoiser& denoiser, const Work& work, const PipelineOptions& options,
                                        int64_t channels, DType sample_type) {
    const bool is_on_device = options.device.is_cuda() && !denoiser.takes_host_memory();
    if (!work.slab && !work.bands)
        return (is_on_device ? make_device_pipeline : make_host_pipeline)(denoiser, work, options, channels,
                                                                          sample_type);
    const RowRoom room = row_room(work, channels);
    auto rows = is_on_device ? make_device_rows(options, sample_type, room) : make_host_rows(options, room);
    if (work.bands) return make_band_pipeline(denoiser, std::move(rows), work);
    const bool is_staged = is_on_device && options.device_borders == nullptr;
    return make_slab_pipeline(denoiser, std::move(rows), work, options, is_staged);
}

}  // namespace pb::run
