// Weights of a known network in one canonical form, whatever file they came from: batch norm folded (in double
// precision), KAIR's residual sign recorded, keys as in deepinv. Engines are built from this and from nothing else.
#pragma once

#include "patchbench/network/network_facts.hpp"
#include "patchbench/network/network_shape.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace pb::engine {

/// A dense row-major tensor; floating types of the file (f16, bf16, f32, f64) are widened or rounded to f32, integer
/// tensors (num_batches_tracked) keep their values as floats.
struct NamedTensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
    bool is_integer = false;  ///< whether the file holds integers or booleans
};

using StateDict = std::map<std::string, NamedTensor>;

/// As it lies in a file: named tensors, nothing else. Reading executes nothing: the pickle reader accepts
/// exactly the opcodes and globals that a state dict needs and refuses every other, so a hostile file is an error.
struct Checkpoint {
    StateDict tensors;
    std::map<std::string, std::string> metadata;  ///< safetensors' `__metadata__`; empty for `.pth`
    std::string note;  ///< which of several state dicts was read: "'params_ema' is read, not 'params'"; else empty
};

/// Removes the names that wrappers put into keys, in any order and place: `module.` (DataParallel, AveragedModel) and
/// `_orig_mod.` (torch.compile). Throws UsageError, with `source` in front, when two keys become the same.
[[nodiscard]] StateDict without_wrappers(StateDict&& tensors, const std::string& source);

struct Convolution : network::ConvolutionShape {
    std::vector<float> weight;
    std::vector<float> bias;  // empty: none
};

struct Weights {
    network::NetworkShape shape = network::DncnnShape{};
    /// By the names of the graph's filters, which are deepinv's: `m_head`, `m_down1.0.res.0`, `Conv1.0`, `in_conv`,
    /// `conv_list.3`. A bias may be empty where the graph has one: some checkpoints were trained without.
    std::map<std::string, Convolution> convolutions;
    std::string source;                    ///< the file, or "seed:<n>"
    std::string layout;                    ///< which key layout was recognised, e.g. "dncnn (KAIR, batch norm merged)"
    std::string sha256;                    ///< of the file, or of the canonical values for a seed; hex
    bool trained = false;                  ///< false for seeded weights
    std::optional<double> trained_sigma;   ///< in [0,1] units, where a network knows one sigma only and it is known
    std::optional<double> most_sigma;      ///< the highest level that a network which is told it was trained for
    std::optional<double> replaced_sigma;  ///< what the file or its card says, where the user stated another
    /// Of a network that the user brings: engines open the file `source`. There is then no shape, and there are no
    /// convolutions but those of the card's layers.
    std::optional<network::NetworkCard> card{};
    std::string note;     ///< which networks and tensors of the file are not read; empty for none
    std::string guess{};  ///< what the names of the tensors leave open, and how it was taken; empty for nothing

    [[nodiscard]] network::NetworkKind kind() const { return card ? network::kCustomKind : network::kind_of(shape); }
    /// Channels of the image (1 gray, 3 colour), without the sigma map.
    [[nodiscard]] int64_t channels() const { return card ? card->channels : network::channels_of(shape); }
    /// Whether its operations are known: engines of ours run it.
    [[nodiscard]] bool has_layers() const { return !card || card->layers; }
    [[nodiscard]] const network::NetworkFacts& facts() const {
        return card ? network::network_facts(*card) : network::network_facts(shape);
    }
    /// Those operations; throws Error where they are not known.
    [[nodiscard]] network::Graph graph() const;
    /// Weights of the filter `name`; throws Error where there are none.
    [[nodiscard]] const Convolution& convolution(const std::string& name) const;
};

/// Recognises the network and the key layout from names and shapes and converts. Throws UsageError that lists missing,
/// surplus and misshapen tensors by name, or says where a value is not finite. The network may lie under a prefix, as
/// `model.` of PyTorch Lightning, beside other tensors; of several copies the averaged one is taken. `source` is used
/// in messages; `sha256` is that of the canonical values (`sha256_of_values`).
[[nodiscard]] Weights recognise_weights(const StateDict& tensors, const std::string& source);

/// As `recognise_weights`, and insists on `expected`; `sha256` is that of the file. The training sigma is taken from
/// safetensors metadata, `sigma_train` or `sigma`, in [0,1] units.
[[nodiscard]] Weights load_weights(const std::filesystem::path& file, network::NetworkKind expected);

/// Deterministic weights of sane scale: the same bits on every machine (counter-based Philox, uniform distribution, no
/// libm). In each DRUNet ResBlock gain sqrt(2) for the first convolution and 0.5 for the second, 1 elsewhere; for UNet
/// randomised batch norm folded in; dncnn as deepinv, small residual.
[[nodiscard]] Weights make_seeded_weights(const network::NetworkShape& shape, uint64_t seed);

/// The same for the standard shape. `channels` is 1 or 3.
[[nodiscard]] Weights make_seeded_weights(network::NetworkKind kind, int64_t channels, uint64_t seed);

/// Digest of the canonical values: of the lines `<key> <sha256 of the little-endian floats>` in the order of the keys,
/// `<name>.weight` before `<name>.bias`. Hex.
[[nodiscard]] std::string sha256_of_values(const Weights& weights);

}  // namespace pb::engine
