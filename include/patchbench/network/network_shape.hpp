// The networks by name, and how large one is. The only list of them: a new network is a page with its graph, and a line
// in each place here.
#pragma once

#include "patchbench/base/network_kind.hpp"
#include "patchbench/network/dncnn.hpp"
#include "patchbench/network/drunet.hpp"
#include "patchbench/network/unet.hpp"

#include <string>
#include <variant>

namespace pb::network {

/// In the order of `NetworkKind`.
using NetworkShape = std::variant<DrunetShape, UnetShape, DncnnShape>;

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

}  // namespace pb::network
