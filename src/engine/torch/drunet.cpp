// DRUNet (Zhang et al. 2021; deepinv `models/drunet.py`): four scales of residual blocks, skips are sums, no bias.
//
// Peak in maps of 64 channels at full extent (256 bytes a pixel in fp32): the first residual block of a scale keeps its
// input for the skip, one map is the block's sum, one its inner map: 3 maps = 768 bytes.
#include "engine/torch/networks.hpp"

#include <array>
#include <utility>

namespace pb::torch_engine {

namespace {

constexpr int kScales = 3;  // below the full one
constexpr int kBlocks = 4;

struct ResBlock {
    Layer first, second;
};
using Blocks = std::array<ResBlock, kBlocks>;

struct Drunet {
    Layer head, tail;
    std::array<Blocks, kScales> down, up;  // index 0: full extent
    std::array<Layer, kScales> shrink, grow;
    Blocks body;
};

/// x + second(relu(first(x))) into x.
void apply(const ResBlock& block, at::Tensor& x) { convolve_onto(x, convolve_relu(x, block.first), block.second); }

/// All blocks of a scale; `x` is kept as it is.
at::Tensor apply_keeping(const Blocks& blocks, const at::Tensor& x) {
    at::Tensor y = convolve_add(x, convolve_relu(x, blocks.front().first), blocks.front().second);
    for (int i = 1; i < kBlocks; ++i) apply(blocks[i], y);
    return y;
}

void run(const Drunet& net, const at::Tensor& in, at::Tensor& out) {
    std::array<at::Tensor, kScales> skips;
    at::Tensor x = convolve(in, net.head);
    for (int k = 0; k < kScales; ++k) {
        skips[k] = std::move(x);
        x = convolve(apply_keeping(net.down[k], skips[k]), net.shrink[k]);
    }
    at::Tensor y = apply_keeping(net.body, x);
    y.add_(std::exchange(x, {}));
    for (int k = kScales - 1; k >= 0; --k) {
        y = convolve(y, net.grow[k]);
        for (const ResBlock& block : net.up[k]) apply(block, y);
        y.add_(std::exchange(skips[k], {}));
    }
    out.copy_(convolve(y, net.tail));
}

Blocks make_blocks(const Weights& weights, const std::string& prefix, int first, const Placement& placement) {
    Blocks blocks;
    for (int i = 0; i < kBlocks; ++i) {
        const std::string name = prefix + "." + std::to_string(first + i) + ".res.";
        blocks[i] = {make_layer(weights, name + "0", placement), make_layer(weights, name + "2", placement)};
    }
    return blocks;
}

}  // namespace

Network make_drunet(const Weights& weights, const Placement& placement) {
    Drunet net;
    net.head = make_layer(weights, "m_head", placement);
    net.tail = make_layer(weights, "m_tail", placement);
    net.body = make_blocks(weights, "m_body", 0, placement);
    for (int k = 0; k < kScales; ++k) {
        const std::string down = "m_down" + std::to_string(k + 1);
        const std::string up = "m_up" + std::to_string(k + 1);
        net.down[k] = make_blocks(weights, down, 0, placement);
        net.shrink[k] = make_layer(weights, down + ".4", placement);
        net.grow[k] = make_layer(weights, up + ".0", placement);
        net.up[k] = make_blocks(weights, up, 1, placement);
    }
    return [net = std::move(net)](const at::Tensor& in, at::Tensor& out) { run(net, in, out); };
}

}  // namespace pb::torch_engine
