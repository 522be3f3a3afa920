// How published checkpoints name the tensors of a network. Most have the names of its graph, "canonical" here.
#pragma once

#include "patchbench/network/network_shape.hpp"

#include <map>
#include <string>
#include <vector>

namespace pb::network {

/// What a checkpoint holds, without the values.
struct CheckpointTensors {
    std::map<std::string, std::vector<int64_t>> shapes;  // by the keys of the file, without `under`
    std::string under = {};                              // the prefix of the part of the file that this is

    /// Whether there are weights of the convolution `name`.
    [[nodiscard]] bool has(const std::string& name) const;
    /// Output channels of the convolution `name`; `otherwise` when it is absent or not a convolution.
    [[nodiscard]] int64_t channels_made(const std::string& name, int64_t otherwise) const;
    /// Largest n of the convolutions `<prefix>n` whose weights or bias are there, and 1000 at most, because indices in
    /// names may be false; -1 when there is none.
    [[nodiscard]] int64_t last_index(std::string_view prefix) const;
};

struct KeyLayout {
    std::string name;
    NetworkShape shape;
    Graph graph;  // of the shape, but with the names, biases and norms of the file
    double eps = 1e-5;
    std::string note = {};  // for the user: what the names cannot tell
    bool is_guess = false;  // the names are those of any Sequential
};

/// Canonical names, in the size `standard` and also in the size `found` when it differs. When the keys do not show the
/// size, the standard one is assumed, and errors name the differences to it.
[[nodiscard]] std::vector<KeyLayout> canonical_layouts(const std::string& name, const NetworkShape& standard,
                                                       const NetworkShape& found);

/// Every layout of every network for gray and for colour images, in the sizes that the tensors show.
[[nodiscard]] std::vector<KeyLayout> known_layouts(const CheckpointTensors& tensors);

}  // namespace pb::network
