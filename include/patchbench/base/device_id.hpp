// Which processor a buffer lives on and a rank computes with.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>

namespace pb {

enum class DeviceKind : uint8_t { cpu, cuda };

struct DeviceId {
    DeviceKind kind = DeviceKind::cpu;
    int index = 0;  // CUDA ordinal among the visible devices; 0 on the CPU
    [[nodiscard]] constexpr bool is_cuda() const { return kind == DeviceKind::cuda; }
    friend constexpr bool operator==(const DeviceId&, const DeviceId&) = default;
};

}  // namespace pb
