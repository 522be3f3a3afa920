// Files of networks, looked at, tried and opened. Engines in a process of their own run a network that the user brings,
// and the engine torch TorchScript; an ONNX model of nothing but operations of a Graph runs in every engine of ours.
#pragma once

#include "network/card/find_card.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/network/network_shape.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::engine {

/// Whether the package of PyTorch in `file` (.pt2) is compiled by AOTInductor: LibTorch runs it. Another one is of
/// torch.export, for Python alone. Throws UsageError for a file that is no archive. Runs nothing.
[[nodiscard]] bool is_compiled_package(const std::filesystem::path& file);

/// Whether `file` is an archive of TorchScript. Runs nothing.
[[nodiscard]] bool is_torchscript(const std::filesystem::path& file);

/// The engine that alone runs `file`, where its name does not say so; nothing for most files. Throws as
/// is_compiled_package.
[[nodiscard]] std::optional<EngineKind> sole_engine_of(const std::filesystem::path& file);

/// Which network of the list the ONNX model or the weights in `file` are for; nothing for another one. Throws
/// UsageError for a file that should be an ONNX model and is none, and for weights alone of another network, whole
/// objects of Python among them. Runs nothing.
[[nodiscard]] std::optional<network::NetworkKind> known_network(const std::filesystem::path& file);

/// Channels and noise level that the model may take, by its inputs and outputs. Throws UsageError where it takes or
/// gives no single image: other than four axes, a fixed size, another type than float32.
[[nodiscard]] std::vector<network::NetworkCard> candidates_in_onnx(const std::filesystem::path& file);

/// The first operation of the model that sees all pixels of a window, as "'/pool' (GlobalAveragePool)"; empty where
/// there is none, or none that the operators tell: attention over all pixels is a product like others.
[[nodiscard]] std::string global_operation_in(const std::filesystem::path& file);

/// The card of a model whose operations all are those of a Graph, with the range not looked for yet; else why it is
/// none: "node '/body/Gelu' ('Gelu'): an operator that is not known here".
struct LayersInFile {
    std::optional<network::NetworkCard> card;
    std::string obstacle;
};

/// Looks at the operations of the ONNX model in `file`; neither card nor obstacle for code. Runs nothing.
[[nodiscard]] LayersInFile layers_in(const std::filesystem::path& file);

/// A network whose file engines open. It has values where the card has layers. Throws UsageError where those are not
/// the file's.
[[nodiscard]] Weights custom_network(const std::filesystem::path& file, const network::NetworkCard& card);

/// `file`, which holds a network or weights, and for an ONNX model (.onnx) the files beside it in which weights lie.
/// Throws UsageError where one of those is not there or the model cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> files_of_network(const std::filesystem::path& file);

/// SHA-256 of the file; of an ONNX model whose weights lie in files beside it, of the digests of all of them. Throws
/// UsageError where one cannot be read.
[[nodiscard]] std::string digest_of_network(const std::filesystem::path& file);

/// Whether an engine in a process of its own has its environment; others are always there.
[[nodiscard]] bool is_installed(EngineKind engine);
/// Throws Error, with what to do, where it has not.
void require_installed(EngineKind engine);

/// The versions of what computes in `engine`, as text for people. Throws Error where the engine is not installed.
[[nodiscard]] std::string versions_of(EngineKind engine);

/// Called before each window that is tried, with its extents.
using TrialListener = std::function<void(Extent window)>;

/// Finds the card of the network in `file` by running it in the engine of `options`. Throws UsageError that names the
/// file, and what making the engine throws.
[[nodiscard]] network::FoundCard try_network(const std::filesystem::path& file, const EngineOptions& options,
                                             const TrialListener& listener);

/// Completes the card of a network with layers: finds its range. Throws likewise.
[[nodiscard]] network::FoundCard try_layers(const std::filesystem::path& file, const network::NetworkCard& card,
                                            const EngineOptions& options, const TrialListener& listener);

/// Which network a weights file is for, asked before a network is chosen. Reads the whole file. Throws UsageError as
/// `load_weights` does, which then reads the file for that network.
[[nodiscard]] network::NetworkKind network_in_file(const std::filesystem::path& file);

}  // namespace pb::engine
