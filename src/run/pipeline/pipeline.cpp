#include "run/pipeline/pipeline.hpp"

#include "comm/interruption.hpp"
#include "engine/memory.hpp"
#include "run/pipeline/row_device.hpp"

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
    return make_slab_pipeline(denoiser, std::move(rows), work, options);
}

image::Image run_window(engine::Denoiser& denoiser, image::Image window, const device::Conversion& conversion,
                        DeviceId device, device::Stream& stream) {
    const int64_t channels = window.channels();
    const auto [height, width] = window.extent();
    const Shape shape{1, channels, height, width};
    const Shape in_shape{1, channels + (conversion.sigma ? 1 : 0), height, width};
    const engine::EngineBuffer samples(device, window.bytes().size());
    const engine::EngineBuffer in(device, static_cast<size_t>(in_shape.elements()) * sizeof(float));
    const engine::EngineBuffer out(device, window.bytes().size());
    const BatchView samples_view{samples.pointer(), shape, DType::f32, Layout::channels_last, device};
    const BatchView in_view{in.pointer(), in_shape, DType::f32, Layout::contiguous, device};
    const BatchView out_view{out.pointer(), shape, DType::f32, Layout::contiguous, device};

    comm::stop_if_interrupted();
    device::copy_to_device(samples.pointer(), window.bytes().data(), window.bytes().size(), stream);
    device::samples_to_network(samples_view, in_view, conversion, stream);
    denoiser.forward(in_view, out_view, stream);
    device::network_to_samples(out_view, samples_view, conversion, stream);
    device::copy_to_host(window.bytes().data(), samples.pointer(), window.bytes().size(), stream);
    stream.synchronise();
    return window;
}

}  // namespace pb::run
