// A checkpoint as it lies in a file: named tensors, nothing else. Reading executes nothing: the pickle reader accepts
// exactly the opcodes and globals that a state dict needs and refuses every other, so a hostile file is an error.
#pragma once

#include <cstdint>
#include <filesystem>
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

/// Reads safetensors, zip `.pth` (torch >= 1.6) and legacy `.pth` files; the format is told by the first bytes, never
/// by the name. Nested dicts under the usual names (`state_dict`, `model_state_dict`, `params`, `model`, ..) are
/// followed, averaged weights (`params_ema`, `model_ema`, `ema`, ..) first; keys are those of `without_wrappers`.
/// Throws UsageError that names the file, the place (byte offset or key) and the reason. Never allocates more than a
/// small multiple of the file's size.
[[nodiscard]] Checkpoint load_checkpoint(const std::filesystem::path& file);

/// The tensors of `load_checkpoint`.
[[nodiscard]] StateDict load_state_dict(const std::filesystem::path& file);

/// Writes float32 safetensors (to a temporary name, then renamed).
void save_safetensors(const StateDict& tensors, const std::filesystem::path& file,
                      const std::map<std::string, std::string>& metadata = {});

/// Removes the names that wrappers put into keys, in any order and place: `module.` (DataParallel, AveragedModel) and
/// `_orig_mod.` (torch.compile). Throws UsageError, with `source` in front, when two keys become the same.
[[nodiscard]] StateDict without_wrappers(StateDict&& tensors, const std::string& source);

}  // namespace pb::engine
