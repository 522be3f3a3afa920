// What plans and engines must know of a network that the user brings as a file. It follows from its layers, where those
// are operations of a Graph; else it is found by trying (network/card/find_card.hpp), or stated in a card beside the
// file (load_yaml.hpp).
#pragma once

#include "patchbench/network/graph.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pb::network {

/// How a network takes the noise level.
enum class SigmaInput : uint8_t {
    none,
    channel,  // one more channel of the image
    input     // a second input
};

struct NetworkCard {
    int64_t channels = 3;  // of the image, in and out: 1 or 3
    SigmaInput sigma = SigmaInput::none;
    double range = 1;       // value of white in the image that it takes and gives; the noise level is in the same unit
    int64_t alignment = 1;  // origins of windows are multiples of it
    /// Pixels on each side that can change an output pixel. None: unbounded, any pixel of the window can.
    std::optional<int64_t> radius;
    /// Pixels on each side that a core aligned to `alignment` depends on, a multiple of it; none: unbounded.
    std::optional<int64_t> halo;
    /// Extents of windows are multiples of it. None: of the alignment. A network that pads by itself takes any.
    std::optional<int64_t> step{};
    std::optional<int64_t> batch{};  // windows in one call at most; none: any number
    /// All operations, where they are known: every engine of ours then runs the network. A card in a file has none.
    std::optional<Graph> layers{};

    /// Channels that the network takes: with the noise level, whichever input that is in.
    [[nodiscard]] int64_t channels_in() const { return channels + (sigma == SigmaInput::none ? 0 : 1); }

    [[nodiscard]] int64_t extent_step() const { return step.value_or(alignment); }

    friend auto operator<=>(const NetworkCard&, const NetworkCard&) = default;
};

/// The names of a card's values and their texts, without the layers: {"channels", "3"}, .., {"radius", "unbounded"}.
/// `step` and `batch` only where they are set.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> values_of(const NetworkCard& card);

/// Sets the value called `name`. Throws UsageError for an unknown name and for a text that is no such value.
void set_value(NetworkCard& card, std::string_view name, std::string_view text);

/// Throws UsageError where values do not fit each other: a halo that is no multiple of the alignment, an alignment that
/// is none of the step, only one of radius and halo unbounded.
void check(const NetworkCard& card);

/// "channels 3, sigma none, range 1, alignment 8, radius 12, halo 16".
[[nodiscard]] std::string to_text(const NetworkCard& card);

/// The same with the layers behind, where they are known: "..., layers input 3; convolution 0 head 3 1 8 bias; ...".
[[nodiscard]] std::string stored_text(const NetworkCard& card);

/// The inverse of both. Throws UsageError for what is no such text.
[[nodiscard]] NetworkCard parse_network_card(std::string_view text);

}  // namespace pb::network
