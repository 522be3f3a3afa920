// DnCNN (Zhang et al. 2017; deepinv `models/dncnn.py`, and KAIR's form with batch norm folded): a chain of convolutions
// between two maps of 64 channels: 512 bytes a pixel in fp32.
#include "engine/torch/networks.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/sub.h>

#include <utility>

namespace pb::torch_engine {

namespace {

struct Dncnn {
    std::vector<Layer> hidden;  // each followed by a ReLU
    Layer last;
    Residual residual = Residual::add;
};

void run(const Dncnn& net, const at::Tensor& in, at::Tensor& out) {
    at::Tensor x = convolve_relu(in, net.hidden.front());
    for (size_t i = 1; i < net.hidden.size(); ++i) x = convolve_relu(x, net.hidden[i]);
    x = convolve(x, net.last);
    if (net.residual == Residual::add)
        at::add_out(out, x, in);
    else if (net.residual == Residual::subtract)
        at::sub_out(out, in, x);
    else
        out.copy_(x);
}

}  // namespace

Network make_dncnn(const Weights& weights, const Placement& placement) {
    require(weights.depth >= 2, "engine: a DnCNN of depth " + std::to_string(weights.depth));
    Dncnn net{.hidden = {make_layer(weights, "in_conv", placement)},
              .last = make_layer(weights, "out_conv", placement),
              .residual = weights.residual};
    for (int64_t i = 0; i + 2 < weights.depth; ++i)
        net.hidden.push_back(make_layer(weights, "conv_list." + std::to_string(i), placement));
    return [net = std::move(net)](const at::Tensor& in, at::Tensor& out) { run(net, in, out); };
}

Network make_network(const Weights& weights, const Placement& placement) {
    switch (weights.kind) {
        case NetworkKind::drunet:
            return make_drunet(weights, placement);
        case NetworkKind::unet:
            return make_unet(weights, placement);
        case NetworkKind::dncnn:
            return make_dncnn(weights, placement);
    }
    throw Error("engine: an unknown network");
}

}  // namespace pb::torch_engine
