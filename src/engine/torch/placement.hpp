// Where tensors go, and with how many threads operators work on them.
#pragma once

#include "patchbench/engine/denoiser.hpp"

#include <c10/core/MemoryFormat.h>
#include <c10/core/TensorOptions.h>

#include <memory>
#include <vector>

namespace pb::torch_engine {

class Fusion;

/// Device and element type, the memory format of weights and activations, and who fuses layers.
struct Placement {
    at::TensorOptions options;
    at::MemoryFormat format = at::MemoryFormat::ChannelsLast;
    std::shared_ptr<Fusion> fusion;  // null where they run unfused
};

[[nodiscard]] Placement placement_of(const EngineOptions& options);

[[nodiscard]] at::MemoryFormat memory_format(Layout layout);

/// Of n, c, h and w, in elements, of a dense tensor.
[[nodiscard]] std::vector<int64_t> strides_of(const Shape& shape, Layout layout);

/// For operators on the CPU that the calling thread calls from now on.
void use_threads(int threads);

/// Throws UsageError for what no CPU can compute.
void check_cpu_options(const EngineOptions& options);

}  // namespace pb::torch_engine
