// What each engine supports: the files of networks that users bring, and precisions on a kind of device. Tables for
// the plan, the engines, verification and documents.
#pragma once

#include "patchbench/base/choices.hpp"
#include "patchbench/base/device_id.hpp"
#include "patchbench/base/shape.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace pb {

// Which engines run a network that the user brings as a file, by the file's name. Adapters of the user (engine python)
// take any file, and are not listed.

/// Whether all operations of a network are known, so that the engines of patchbench run it.
enum class Layers : uint8_t { unknown, known };

/// Engines that run `file`, the preferred one first; never empty.
[[nodiscard]] std::span<const EngineKind> engines_of_file(const std::string& file, Layers layers = Layers::unknown);

/// Whether `engine` runs `file`; python does.
[[nodiscard]] bool runs_file(EngineKind engine, const std::string& file, Layers layers = Layers::unknown);

/// "onnxruntime, openvino or python:FILE"
[[nodiscard]] std::string engines_of_file_text(const std::string& file, Layers layers = Layers::unknown);

/// Whether `engine` has a way to compute in `precision` on a device of `kind`. An adapter of the user (engine python)
/// may still refuse; torch on CUDA refuses what the device has not.
[[nodiscard]] bool computes_in(EngineKind engine, DeviceKind kind, Precision precision);

/// Why `engine` cannot compute so on a device of `kind`, with the way out; empty where it can. `name`: of the engine as
/// the user wrote it.
[[nodiscard]] std::string precision_refusal(EngineKind engine, const std::string& name, DeviceKind kind,
                                            Precision precision);

/// Why engine native cannot compute in bf16 on processors without products of it, with the way out. `where`: "on rank
/// 1".
[[nodiscard]] std::string native_bf16_refusal(const std::string& where);

/// Element type of the windows that `engine` takes and gives, and of its maps between layers. Native rounds within
/// layers only.
[[nodiscard]] DType storage_of(EngineKind engine, Precision precision);

/// "torch, openvino": engines that compute in `precision` on the CPU, without those of studies alone and of the user.
[[nodiscard]] std::string engines_text(Precision precision);

}  // namespace pb
