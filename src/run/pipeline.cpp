#include "patchbench/run/pipeline.hpp"

#include "run/pipelines.hpp"

namespace pb {

std::unique_ptr<Pipeline> make_pipeline(Denoiser& denoiser, const Work& work, const PipelineOptions& options,
                                        int64_t channels, DType sample_type) {
    if (options.device.is_cuda()) return make_device_pipeline(denoiser, work, options, channels, sample_type);
    return make_host_pipeline(denoiser, work, options, channels, sample_type);
}

}  // namespace pb
