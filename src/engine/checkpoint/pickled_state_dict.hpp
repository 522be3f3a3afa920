// Makes tensors from the values of a pickle: finds the state dict in what training scripts save (dicts in dicts, beside
// the optimizer, the epoch and so on), checks every view against its storage and copies it.
#pragma once

#include "engine/checkpoint/pickle_value.hpp"

#include "patchbench/engine/state_dict.hpp"

#include <functional>
#include <string>

namespace pb::engine {

struct PickledFile {
    std::string name;    // for messages
    uint64_t bytes = 0;  // size of the file: limit for all tensors together
    const PickleHeap& heap;
    /// Returns the bytes of a storage, which must stay valid; they may be fewer or more than announced. Called once for
    /// each key.
    std::function<Bytes(const PickledStorage&)> read_storage;
};

/// Throws UsageError that names the tensor and what is wrong with it.
[[nodiscard]] Checkpoint to_tensors(const PickledFile& file, const PickleValue& root);

}  // namespace pb::engine
