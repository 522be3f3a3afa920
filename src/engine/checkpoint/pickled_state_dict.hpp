// From the values of a pickle to tensors: finds the state dict, checks every view against its storage and copies it.
#pragma once

#include "engine/checkpoint/pickle_value.hpp"

#include "patchbench/engine/state_dict.hpp"

#include <functional>
#include <string>

namespace pb {

struct PickledFile {
    std::string name;    // for messages
    uint64_t bytes = 0;  // size of the file: what all tensors together may claim
    const PickleHeap& heap;
    /// The bytes of a storage, which stay valid; they may be fewer or more than announced. Asked once for each key.
    std::function<Bytes(const PickledStorage&)> read_storage;
};

/// Throws UsageError that names the tensor and what is wrong with it.
[[nodiscard]] StateDict to_tensors(const PickledFile& file, const PickleValue& root);

}  // namespace pb
