// The best rates that a rank's device and host reach, measured in the same run as the figures that they are compared
// with. Values only. A value is absent when it was not or could not be measured. The table below defines names, units
// and order.
#pragma once

#include "record/fields.hpp"

#include "patchbench/base/enum_names.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace pb::record {

enum class Bound : uint8_t {
    matmul_tflops,         // matrix product in the precision of the point
    conv_tflops,           // 3x3 convolution of 64 channels, channels_last, in the precision of the point
    device_copy_gb_per_s,  // within the device's memory, read and written bytes; on a CPU with all threads of the rank
    h2d_gb_per_s,          // pinned host memory to the device
    d2h_gb_per_s,          // device to pinned host memory
    host_copy_gb_per_s     // within the host's memory by one thread, read and written bytes
};
inline constexpr size_t kNumBounds = 6;

constexpr auto enum_names(Bound) {
    return std::to_array<EnumName<Bound>>({{Bound::matmul_tflops, "matmul_tflops"},
                                           {Bound::conv_tflops, "conv_tflops"},
                                           {Bound::device_copy_gb_per_s, "device_copy_gb_per_s"},
                                           {Bound::h2d_gb_per_s, "h2d_gb_per_s"},
                                           {Bound::d2h_gb_per_s, "d2h_gb_per_s"},
                                           {Bound::host_copy_gb_per_s, "host_copy_gb_per_s"}});
}

struct BoundsRecord {
    std::array<std::optional<double>, kNumBounds> rates;
    [[nodiscard]] const std::optional<double>& operator[](Bound bound) const {
        return rates[static_cast<size_t>(bound)];
    }
    [[nodiscard]] std::optional<double>& operator[](Bound bound) { return rates[static_cast<size_t>(bound)]; }
    [[nodiscard]] bool empty() const { return *this == BoundsRecord{}; }
    friend bool operator==(const BoundsRecord&, const BoundsRecord&) = default;
};

template <class V, Like<BoundsRecord> B>
void fields(V& v, B& bounds) {
    for (const auto& [bound, name] : enum_names(Bound{})) v(name, positive_amount(bounds[bound]));
}

}  // namespace pb::record
