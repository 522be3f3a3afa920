// The ways in which checkpoints in the wild name the tensors of these networks. A layout is a list of canonical
// convolutions and the keys that their parts have in the file.
#pragma once

#include "engine/weights/architecture.hpp"

#include "patchbench/engine/weights.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb {

/// `spec.bias` says whether the file's convolution has one; `norm` is the file's key of the batch norm, empty: none.
struct LayerKeys {
    ConvolutionSpec spec;
    std::string convolution;
    std::string norm;
};

struct KeyLayout {
    std::string name;
    NetworkKind kind = NetworkKind::dncnn;
    int64_t channels = 3;
    Residual residual = Residual::none;
    int64_t depth = 0;
    double eps = 1e-5;
    std::vector<LayerKeys> layers;
};

/// Every layout for gray and for colour images, DnCNN as deep as the keys of `tensors` tell.
[[nodiscard]] std::vector<KeyLayout> known_layouts(const StateDict& tensors);

}  // namespace pb
