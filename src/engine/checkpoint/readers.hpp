// The readers of the three file formats. Each gets the whole file in memory and its name for messages.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"

#include "patchbench/engine/weights.hpp"

#include <string>

namespace pb::engine {

/// https://github.com/huggingface/safetensors: 8 bytes length, a JSON header, the tensors without gaps.
[[nodiscard]] Checkpoint read_safetensors(Bytes file, const std::string& name);

/// torch.save since 1.6: a zip archive of stored records `<root>/data.pkl` and `<root>/data/<key>`.
[[nodiscard]] Checkpoint read_zip_pth(Bytes file, const std::string& name);

/// torch.save before 1.6: five pickles, then the storages one after the other.
[[nodiscard]] Checkpoint read_legacy_pth(Bytes file, const std::string& name);

/// Reads any of the three formats; the format is told by the first bytes, never by the name. Nested dicts under the
/// usual names (`state_dict`, `model_state_dict`, `params`, `model`, ..) are followed, averaged weights (`params_ema`,
/// `model_ema`, `ema`, ..) first; keys are those of `without_wrappers`. Throws UsageError that names the file, the
/// place (byte offset or key) and the reason. Never allocates more than a small multiple of the file's size.
[[nodiscard]] Checkpoint read_checkpoint(Bytes file, const std::string& name);

[[nodiscard]] bool is_safetensors(Bytes file);
[[nodiscard]] bool is_zip(Bytes file);
[[nodiscard]] bool is_legacy_pth(Bytes file);

}  // namespace pb::engine
