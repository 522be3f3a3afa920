#include "run/pipeline/pipeline.hpp"

#include "engine/memory.hpp"

#include <algorithm>

namespace pb::run {

int64_t peak_allocated_bytes(const Pipeline& pipeline, DeviceId device) {
    const auto counters = engine::allocator_counters(device);
    return std::max(counters.peak_allocated_bytes, counters.allocated_bytes + pipeline.replay_bytes());
}

std::unique_ptr<Pipeline> make_pipeline(engine::Denoiser& denoiser, const Work& work, const PipelineOptions& options,
                                        int64_t channels, DType sample_type) {
    const bool is_on_device = options.device.is_cuda() && !denoiser.takes_host_memory();
    if (work.slab && is_on_device) return make_device_slab_pipeline(denoiser, work, options, channels, sample_type);
    if (work.slab) return make_slab_pipeline(denoiser, work, options, channels);
    if (work.bands && is_on_device) return make_device_band_pipeline(denoiser, work, options, channels, sample_type);
    if (work.bands) return make_band_pipeline(denoiser, work, options, channels);
    if (is_on_device) return make_device_pipeline(denoiser, work, options, channels, sample_type);
    return make_host_pipeline(denoiser, work, options, channels, sample_type);
}

}  // namespace pb::run
