// What one batch of windows needs round a denoiser: samples, the network's input and output, and the conversions.
#pragma once

#include "denoise_batch.hpp"
#include "device/convert.hpp"

#include "patchbench/network/network_facts.hpp"

#include <vector>

namespace pb::test {

inline void copy_in(const engine::EngineBuffer& buffer, const std::vector<float>& values, device::Stream& stream) {
    device::copy_to_device(buffer.pointer(), values.data(), values.size() * sizeof(float), stream);
    stream.synchronise();
}

inline std::vector<float> copy_out(const engine::EngineBuffer& buffer, int64_t count, device::Stream& stream) {
    std::vector<float> values(static_cast<size_t>(count));
    device::copy_to_host(values.data(), buffer.pointer(), values.size() * sizeof(float), stream);
    stream.synchronise();
    return values;
}

/// A denoiser with everything that one batch of windows needs round it, on either device.
class Slot {
  public:
    /// `windows`: n, h, w are used.
    Slot(const engine::Weights& weights, const engine::EngineOptions& options, const Shape& windows)
        : Slot(input_shape(weights, windows.n, windows.h, windows.w), weights, options) {}

    void prepare(engine::Denoiser& denoiser, device::Stream& stream) { denoiser.prepare(in_, out_, stream); }

    [[nodiscard]] const BatchView& in() const { return in_; }
    [[nodiscard]] const BatchView& out() const { return out_; }

    void load(const std::vector<float>& values, device::Stream& stream) {
        copy_in(samples_, values, stream);
        device::samples_to_network(samples_view(), in_, conversion_, stream);
    }

    void forward(engine::Denoiser& denoiser, device::Stream& stream) { denoiser.forward(in_, out_, stream); }

    std::vector<float> result(device::Stream& stream) {
        device::network_to_samples(out_, samples_view(), conversion_, stream);
        return copy_out(samples_, samples_shape_.elements(), stream);
    }

    std::vector<float> denoise(engine::Denoiser& denoiser, const std::vector<float>& values, device::Stream& stream) {
        load(values, stream);
        forward(denoiser, stream);
        return result(stream);
    }

  private:
    Slot(const Shape& in, const engine::Weights& weights, const engine::EngineOptions& options)
        : device_(options.device),
          samples_shape_(output_shape(weights, in)),
          samples_(device_, bytes_of(samples_shape_)),
          in_memory_(device_, bytes_of(in)),
          out_memory_(device_, bytes_of(samples_shape_)),
          in_(view_of(in_memory_.pointer(), in, options)),
          out_(view_of(out_memory_.pointer(), samples_shape_, options)) {
        if (network::network_facts(weights.kind()).takes_sigma) conversion_.sigma = 0.1F;
    }

    /// Of f32, the widest type of a network.
    static size_t bytes_of(const Shape& shape) { return static_cast<size_t>(shape.elements()) * sizeof(float); }

    [[nodiscard]] BatchView samples_view() const {
        return {.pointer = samples_.pointer(), .shape = samples_shape_, .device = device_};
    }

    DeviceId device_;
    Shape samples_shape_;
    engine::EngineBuffer samples_, in_memory_, out_memory_;
    BatchView in_, out_;
    device::Conversion conversion_;
};

}  // namespace pb::test
