// The values of cores that are not finite, counted on a CUDA device while they are still the network's: integers cannot
// say so. The cores travel there with the samples, and their counts back with those of the output. Where samples are
// floats, nothing is lost and nothing is counted.
#pragma once

#include "device/part_count.hpp"
#include "engine/memory.hpp"

#include "patchbench/device/buffer.hpp"

#include <algorithm>
#include <span>

namespace pb::run {

class LostValues {
  public:
    /// Room for `most` cores. Throws OutOfMemory.
    LostValues(DeviceId device, DType sample_type, int64_t most)
        : counts_(!is_float(sample_type)), here_(device, bytes_of(most)), there_(device, bytes_of(most)) {}

    /// Takes the cores of a batch to the device. The next calls are about them.
    void send(std::span<const Rect> cores, device::Stream& stream) {
        num_cores_ = std::ssize(cores);
        std::ranges::transform(cores, on_host(), [](const Rect& core) { return device::PartCount{core}; });
        if (counts_) device::copy_to_device(there_.pointer(), here_.pointer(), bytes_of(num_cores_), stream);
    }
    /// In the network's output, on the device: one core of each window, or all of its only one.
    void count(const BatchView& output, device::Stream& stream) const {
        auto* const cores = static_cast<device::PartCount*>(there_.pointer());
        if (counts_) device::count_not_finite(output, cores, num_cores_, stream);
    }
    /// Brings the counts back to `cores`.
    void receive(device::Stream& stream) {
        if (counts_) device::copy_to_host(here_.pointer(), there_.pointer(), bytes_of(num_cores_), stream);
    }
    /// The cores that were sent, in their order, in memory that stays where it is.
    [[nodiscard]] const device::PartCount* cores() const { return on_host(); }

  private:
    static size_t bytes_of(int64_t cores) { return static_cast<size_t>(cores) * sizeof(device::PartCount); }
    [[nodiscard]] device::PartCount* on_host() const { return reinterpret_cast<device::PartCount*>(here_.pointer()); }

    bool counts_;
    int64_t num_cores_ = 0;
    device::PinnedBuffer here_;
    engine::EngineBuffer there_;
};

}  // namespace pb::run
