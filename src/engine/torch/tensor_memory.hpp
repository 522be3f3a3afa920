// Where LibTorch's tensors on the CPU lie: in the memory of the engines (engine/counting_memory.hpp).
#pragma once

#include "engine/counting_memory.hpp"

namespace pb::engine::torch_engine {

/// To be called before the first tensor is made; a second call has no effect. `memory` outlives the last tensor.
void put_tensors_into(CountingMemory& memory);

/// Null before put_tensors_into().
[[nodiscard]] CountingMemory* tensor_memory();

/// As empty_allocator_cache.
void empty_tensor_cache(DeviceId device);

}  // namespace pb::engine::torch_engine
