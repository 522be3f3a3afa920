#include "engine/weights/architecture.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/weights.hpp"

#include <algorithm>
#include <functional>

namespace pb {
namespace {

// y = (x - 0) / sqrt((1 - eps) + eps) * 1 + 0 with PyTorch's eps of 1e-5.
void add_identity_norm(StateDict& tensors, const std::string& key, int64_t channels) {
    const auto filled = [&](float value) {
        return NamedTensor{{channels}, std::vector<float>(static_cast<size_t>(channels), value)};
    };
    tensors[key + ".weight"] = filled(1.0f);
    tensors[key + ".bias"] = filled(0.0f);
    tensors[key + ".running_mean"] = filled(0.0f);
    tensors[key + ".running_var"] = filled(static_cast<float>(1.0 - 1e-5));
    tensors[key + ".num_batches_tracked"] = {{}, {0.0f}};
}

void negate(std::vector<float>& values) { std::transform(values.begin(), values.end(), values.begin(), std::negate()); }

}  // namespace

StateDict to_state_dict(const Weights& weights) {
    StateDict tensors;
    for (const ConvolutionSpec& spec : architecture(weights.kind, weights.channels, weights.depth)) {
        const auto found = weights.convolutions.find(spec.name);
        require(found != weights.convolutions.end(), "the weights of " + weights.source + " lack '" + spec.name + "'");
        Convolution convolution = found->second;
        if (weights.residual == Residual::subtract && spec.name == "out_conv") {
            negate(convolution.weight);
            negate(convolution.bias);
        }
        // Some layouts have no biases; deepinv's network always has them.
        if (spec.bias) convolution.bias.resize(static_cast<size_t>(spec.out_channels), 0.0f);
        tensors[spec.name + ".weight"] = {spec.weight_shape(), std::move(convolution.weight)};
        if (spec.bias) tensors[spec.name + ".bias"] = {{spec.out_channels}, std::move(convolution.bias)};
        if (!spec.norm.empty()) add_identity_norm(tensors, spec.norm, spec.out_channels);
    }
    return tensors;
}

}  // namespace pb
