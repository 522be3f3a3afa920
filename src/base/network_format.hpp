// What a file of a network is, by the ending of its name in upper or lower case.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace pb {

/// weights: those of a network that is known, without the network.
enum class NetworkFormat : uint8_t { onnx, torchscript, torch_package, python, weights };

/// Nothing for a name that does not end as one of a network does.
[[nodiscard]] std::optional<NetworkFormat> network_format(const std::filesystem::path& file);

/// Whether the file is code, which does what it likes when it is opened: TorchScript, a package of PyTorch or Python.
[[nodiscard]] bool is_code(const std::filesystem::path& file);

/// ".onnx, .pt, .pt2, .py, or weights of a known one: .pth, .ckpt, .safetensors"
[[nodiscard]] std::string network_endings_text();

}  // namespace pb
