#include "run/pipeline/run_window.hpp"

#include "comm/interruption.hpp"
#include "engine/memory.hpp"

namespace pb::run {

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
