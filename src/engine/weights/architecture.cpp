#include "engine/weights/architecture.hpp"

#include <array>
#include <cmath>

namespace pb {
namespace {

using Specs = std::vector<ConvolutionSpec>;

constexpr std::array<int64_t, 4> kWidths{64, 128, 256, 512};  // DRUNet and UNet, by scale
const double kBeforeRelu = std::sqrt(2.0);                    // keeps the mean square through a ReLU

std::string numbered(const std::string& name, size_t number) { return name + std::to_string(number); }

// Four blocks x + conv(relu(conv(x))). The second gain of a half keeps 24 residual sums from growing out of fp16.
void add_residual_blocks(Specs& specs, const std::string& name, size_t first, int64_t width) {
    for (size_t block = first; block < first + 4; ++block) {
        const std::string res = numbered(name + ".", block) + ".res.";
        specs.push_back({.name = res + "0", .out_channels = width, .in_channels = width, .gain = kBeforeRelu});
        specs.push_back({.name = res + "2", .out_channels = width, .in_channels = width, .gain = 0.5});
    }
}

Specs drunet(int64_t channels) {
    Specs specs{{.name = "m_head", .out_channels = kWidths[0], .in_channels = channels + 1}};
    for (size_t scale = 0; scale < 3; ++scale) {
        const std::string name = numbered("m_down", scale + 1);
        add_residual_blocks(specs, name, 0, kWidths[scale]);
        specs.push_back({.name = name + ".4",
                         .out_channels = kWidths[scale + 1],
                         .in_channels = kWidths[scale],
                         .kernel = 2,
                         .stride = 2});
    }
    add_residual_blocks(specs, "m_body", 0, kWidths[3]);
    for (size_t scale = 3; scale-- > 0;) {
        const std::string name = numbered("m_up", scale + 1);
        specs.push_back({.name = name + ".0",
                         .out_channels = kWidths[scale],
                         .in_channels = kWidths[scale + 1],
                         .kernel = 2,
                         .stride = 2,
                         .transposed = true});
        add_residual_blocks(specs, name, 1, kWidths[scale]);
    }
    specs.push_back({.name = "m_tail", .out_channels = channels, .in_channels = kWidths[0]});
    return specs;
}

ConvolutionSpec unet_convolution(const std::string& module, size_t index, int64_t out, int64_t in) {
    return {.name = numbered(module + ".", index),
            .out_channels = out,
            .in_channels = in,
            .bias = true,
            .gain = kBeforeRelu,
            .norm = numbered(module + ".", index + 1)};
}

void add_unet_block(Specs& specs, const std::string& module, int64_t out, int64_t in) {
    specs.push_back(unet_convolution(module, 0, out, in));
    specs.push_back(unet_convolution(module, 3, out, out));
}

Specs unet(int64_t channels) {
    Specs specs;
    for (size_t scale = 0; scale < 4; ++scale)
        add_unet_block(specs, numbered("Conv", scale + 1), kWidths[scale], scale == 0 ? channels : kWidths[scale - 1]);
    for (size_t scale = 3; scale > 0; --scale) {
        specs.push_back(unet_convolution(numbered("Up", scale + 1), 1, kWidths[scale - 1], kWidths[scale]));
        add_unet_block(specs, numbered("Up_conv", scale + 1), kWidths[scale - 1], kWidths[scale]);
    }
    specs.push_back(
        {.name = "Conv_1x1", .out_channels = channels, .in_channels = kWidths[0], .kernel = 1, .bias = true});
    return specs;
}

Specs dncnn(int64_t channels, int64_t depth) {
    constexpr int64_t kWidth = 64;
    constexpr double kSmallResidual = 0.1;  // a denoiser changes its input little
    Specs specs{
        {.name = "in_conv", .out_channels = kWidth, .in_channels = channels, .bias = true, .gain = kBeforeRelu}};
    for (int64_t i = 0; i < depth - 2; ++i)
        specs.push_back({.name = numbered("conv_list.", static_cast<size_t>(i)),
                         .out_channels = kWidth,
                         .in_channels = kWidth,
                         .bias = true,
                         .gain = kBeforeRelu});
    specs.push_back(
        {.name = "out_conv", .out_channels = channels, .in_channels = kWidth, .bias = true, .gain = kSmallResidual});
    return specs;
}

}  // namespace

std::vector<int64_t> ConvolutionSpec::weight_shape() const {
    if (transposed) return {in_channels, out_channels, kernel, kernel};
    return {out_channels, in_channels, kernel, kernel};
}

// A transposed convolution whose stride is its kernel has one tap for each output.
int64_t ConvolutionSpec::fan_in() const { return transposed ? in_channels : in_channels * kernel * kernel; }

std::vector<ConvolutionSpec> architecture(NetworkKind kind, int64_t channels, int64_t depth) {
    switch (kind) {
        case NetworkKind::drunet:
            return drunet(channels);
        case NetworkKind::unet:
            return unet(channels);
        case NetworkKind::dncnn:
            return dncnn(channels, depth);
    }
    return {};
}

}  // namespace pb
