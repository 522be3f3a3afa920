// The list of networks, the only one: names, settings, help, recognition of files and messages follow from it.
#pragma once

#include "patchbench/network/dncnn.hpp"
#include "patchbench/network/drunet.hpp"
#include "patchbench/network/unet.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace pb::network {

/// Which network, and how large one is. Append: the seeded weights of a network depend on its place in the list.
using NetworkShape = std::variant<DrunetShape, UnetShape, DncnnShape>;

// Note [A network's page]
// A network is a struct in a header and a source of its own. All that is said of this network alone is there:
//   kName                  how settings and results name it
//   channels, ..           its size; defaults are the network as it was published, and `channels` is that of the image
//   graph()                the forward pass, with the names that the weights have here
//   layouts(tensors)       called for the published size of 1 and 3 channels: the layouts of keys that checkpoints of
//                          this network may have, in the size that the tensors show, also where one of them is
//                          missing (key_layout.hpp)
//   size_in(graph)         the size of the network that computes `graph`; any size where it is another network
//   text(text, shape)      the size as a text, which is written and read back: what name and channels do not say
//   <=>                    of all members

/// A network by its place in the list.
enum class NetworkKind : uint8_t {};

constexpr auto enum_names(NetworkKind) {
    return []<class... Shapes>(std::type_identity<std::variant<Shapes...>>) {
        uint8_t place = 0;
        return std::array{EnumName<NetworkKind>{NetworkKind{place++}, Shapes::kName}...};
    }(std::type_identity<NetworkShape>{});
}

/// `kind_of<DncnnShape>()`.
template <class Shape>
[[nodiscard]] consteval NetworkKind kind_of() {
    constexpr auto kNames = enum_table<NetworkKind>();
    return std::ranges::find(kNames, Shape::kName, [](const auto& entry) { return entry.second; })->first;
}

/// Of a network that the user brings (network_card.hpp): none of the list.
inline constexpr NetworkKind kCustomKind{0xFF};

[[nodiscard]] NetworkKind kind_of(const NetworkShape& shape);

/// Channels of the image.
[[nodiscard]] int64_t channels_of(const NetworkShape& shape);

/// The network as it was published, for gray (`channels` 1) or colour images (any other number): the size of the seeded
/// weights and of most checkpoints.
[[nodiscard]] NetworkShape standard_shape(NetworkKind kind, int64_t channels);

[[nodiscard]] Graph graph_of(const NetworkShape& shape);

/// "widths 64-128-256-512, 4 blocks", "depth 17, width 64, residual subtract": what the network's name and its channels
/// do not say.
[[nodiscard]] std::string to_text(const NetworkShape& shape);

/// The inverse. Throws UsageError for what is no such text.
[[nodiscard]] NetworkShape parse_network_shape(NetworkKind kind, int64_t channels, const std::string& text);

/// For each network the size that it has in `graph`; any size for those that do not compute it.
[[nodiscard]] std::vector<NetworkShape> sizes_in(const Graph& graph);

}  // namespace pb::network
