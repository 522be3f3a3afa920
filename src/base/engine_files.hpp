// Which engines run a network that the user brings as a file, by the file's name: one table for the plan, the engines
// and verification. Adapters of the user (engine python) take any file, and are not listed.
#pragma once

#include "patchbench/base/choices.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace pb {

/// Whether all operations of a network are known, so that the engines of patchbench run it.
enum class Layers : uint8_t { unknown, known };

/// Engines that run `file`, the preferred one first; never empty.
[[nodiscard]] std::span<const EngineKind> engines_of_file(const std::string& file, Layers layers = Layers::unknown);

/// Whether `engine` runs `file`; python does.
[[nodiscard]] bool runs_file(EngineKind engine, const std::string& file, Layers layers = Layers::unknown);

/// "onnxruntime, openvino or python:FILE"
[[nodiscard]] std::string engines_of_file_text(const std::string& file, Layers layers = Layers::unknown);

}  // namespace pb
