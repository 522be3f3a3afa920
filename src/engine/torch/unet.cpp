// UNet (deepinv `models/unet.py`, four scales, batch norm folded into the convolutions): skips are concatenated, the
// decoder doubles by nearest neighbour, the output is added to the input.
//
// Peak at full extent: the skip (64 channels), the doubled map (128) and its convolution (64), or the skip, the map and
// both concatenated (64 + 64 + 128): 256 channels = 1024 bytes a pixel in fp32.
#include "engine/torch/networks.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>

#include <array>
#include <utility>

namespace pb::torch_engine {

namespace {

constexpr int kLevels = 4;

struct Block {
    Layer first, second;
};

struct Unet {
    std::array<Block, kLevels> encoder;
    std::array<Block, kLevels - 1> decoder;  // index 0: full extent
    std::array<Layer, kLevels - 1> grow;
    Layer last;
};

at::Tensor apply(const Block& block, at::Tensor x) {
    x = convolve_relu(x, block.first);
    return convolve_relu(x, block.second);
}

// Note [Strided ops instead of pool and upsample]
// at::max_pool2d makes an int64 index map that nobody reads, and CUDA's upsampling refuses outputs of 2^31 elements in
// a whole batch. Element-wise operations on strided views give the same values without either.

/// The four pixels of each 2x2 cell as strided views.
at::Tensor corner(const at::Tensor& x, int64_t row, int64_t column) {
    return x.slice(2, row, std::nullopt, 2).slice(3, column, std::nullopt, 2);
}

at::Tensor max_pool_2x2(const at::Tensor& x) {
    at::Tensor y =
        at::empty({x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2}, x.options(), x.suggest_memory_format());
    at::maximum_out(y, corner(x, 0, 0), corner(x, 0, 1));
    at::maximum_out(y, y, corner(x, 1, 0));
    at::maximum_out(y, y, corner(x, 1, 1));
    return y;
}

at::Tensor double_nearest(const at::Tensor& x) {
    const int64_t n = x.size(0), c = x.size(1), h = x.size(2), w = x.size(3);
    at::Tensor y = at::empty({n, c, 2 * h, 2 * w}, x.options(), x.suggest_memory_format());
    y.view({n, c, h, 2, w, 2}).copy_(x.unsqueeze(3).unsqueeze(5).expand({n, c, h, 2, w, 2}));
    return y;
}

/// Takes both maps over. A statement of its own: arguments live to the end of the caller's statement, and the maps must
/// be gone when the next convolution runs.
at::Tensor join(at::Tensor skip, at::Tensor x) { return at::cat({std::move(skip), std::move(x)}, 1); }

void run(const Unet& net, const at::Tensor& in, at::Tensor& out) {
    std::array<at::Tensor, kLevels - 1> skips;
    at::Tensor x = apply(net.encoder[0], in);
    for (int k = 1; k < kLevels; ++k) {
        skips[k - 1] = std::move(x);
        x = apply(net.encoder[k], max_pool_2x2(skips[k - 1]));
    }
    for (int k = kLevels - 2; k >= 0; --k) {
        x = double_nearest(std::exchange(x, {}));
        x = convolve_relu(x, net.grow[k]);
        x = join(std::exchange(skips[k], {}), std::exchange(x, {}));
        x = apply(net.decoder[k], std::exchange(x, {}));
    }
    at::add_out(out, convolve(x, net.last), in);
}

Block make_block(const Weights& weights, const std::string& prefix, const Placement& placement) {
    return {make_layer(weights, prefix + ".0", placement), make_layer(weights, prefix + ".3", placement)};
}

}  // namespace

Network make_unet(const Weights& weights, const Placement& placement) {
    Unet net;
    for (int k = 0; k < kLevels; ++k) net.encoder[k] = make_block(weights, "Conv" + std::to_string(k + 1), placement);
    for (int k = 0; k < kLevels - 1; ++k) {
        net.grow[k] = make_layer(weights, "Up" + std::to_string(k + 2) + ".1", placement);
        net.decoder[k] = make_block(weights, "Up_conv" + std::to_string(k + 2), placement);
    }
    net.last = make_layer(weights, "Conv_1x1", placement);
    return [net = std::move(net)](const at::Tensor& in, at::Tensor& out) { run(net, in, out); };
}

}  // namespace pb::torch_engine
