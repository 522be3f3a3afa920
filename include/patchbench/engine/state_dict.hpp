// A checkpoint as it lies in a file: named tensors, nothing else. Reading executes nothing: the pickle reader accepts
// exactly the opcodes and globals that a state dict needs and refuses every other, so a hostile file is an error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pb::engine {

/// A dense row-major tensor; floating types of the file (f16, bf16, f32, f64) are widened or rounded to f32, integer
/// tensors (num_batches_tracked) keep their values as floats.
struct NamedTensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
};

using StateDict = std::map<std::string, NamedTensor>;

struct Checkpoint {
    StateDict tensors;
    std::map<std::string, std::string> metadata;  ///< safetensors' `__metadata__`; empty for `.pth`
    std::string note;  ///< which of several state dicts was read: "'params_ema' is read, not 'params'"; else empty
};

/// Removes the names that wrappers put into keys, in any order and place: `module.` (DataParallel, AveragedModel) and
/// `_orig_mod.` (torch.compile). Throws UsageError, with `source` in front, when two keys become the same.
[[nodiscard]] StateDict without_wrappers(StateDict&& tensors, const std::string& source);

}  // namespace pb::engine
