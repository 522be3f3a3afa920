// What is known of a network that the user brings as a file (`network: model.onnx`): which network of the list it is,
// or its card. The card follows from its layers, is in a file beside the network, or is found by running the network.
#pragma once

#include "comm/communicator.hpp"
#include "config/settings.hpp"

#include "patchbench/engine/denoiser.hpp"
#include "patchbench/network/network_card.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

struct LookedAt {
    std::optional<network::NetworkKind> known{};  // the file has weights of this network: every engine runs it
    network::NetworkCard card{};                  // where it is not known
    std::vector<std::string> remarks{};
    std::optional<EngineKind> sole_engine{};  // that alone runs the file, where its name does not say so
    std::string obstacle{};  // why the card of an ONNX model has no layers: its first node that is no operation of ours
    std::string origin;      // "the card model.onnx.card.yaml", "found by trying 31 windows in onnxruntime"
};

struct LookOptions {
    config::EngineSetting engine;   // where that cannot run the file, an installed engine that can
    bool reads_card = true;         // takes a card beside the file that is for it
    bool trusts_model = false;      // the user has said that code may run: no file can say so
    std::filesystem::path cache{};  // keeps what is found by trying; empty: nothing does
};

/// Looks at `file`. Throws UsageError that says what is wrong with it, and for code that is not trusted.
[[nodiscard]] LookedAt look_at_network(const std::filesystem::path& file, const LookOptions& options);

// Finds what tiling must know of a network by running windows through it (network_trials.cpp). A line on stderr shows
// that this goes on, for large networks take minutes.

/// Tries the network in `file` with the engine of `options`, unless an earlier run kept in `cache` what it found with
/// the same versions; an empty path: nothing is kept. Throws UsageError that names the file.
[[nodiscard]] LookedAt try_network(const std::filesystem::path& file, const engine::EngineOptions& options,
                                   const std::filesystem::path& cache);

/// Finds the range of a network whose operations are known. Throws likewise.
[[nodiscard]] LookedAt try_range(const std::filesystem::path& file, const network::NetworkCard& card);

inline constexpr const char* kTrustHelp =
    "run networks that are code (.pt, .pt2, .py): they run as you. Without it they are refused";

/// Writes the card beside the network. Returns its name.
std::filesystem::path save_card(const std::filesystem::path& network, const LookedAt& looked);

/// Settles the networks of `points` that are files: a known one becomes that network with the file as its weights,
/// another gets its card. Tells on stderr what was found by trying. The second form is collective: the root looks.
/// `cache`: the folder that keeps what is found by trying; empty: nothing does.
void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model);
void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model,
                     const comm::Communicator& world, const std::filesystem::path& cache = {});

/// Sets the network that the file of the setting `weights` holds, where it holds a known one. Collective: the root
/// reads.
void take_network_of_weights(const comm::Communicator& world, config::PointSettings& settings);

/// The points of a study, for settle_networks.
[[nodiscard]] std::vector<config::PointSettings*> points_of(config::Config& config);

}  // namespace pb::app
