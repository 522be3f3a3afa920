#include "engine/torch/fusion/fused_layer.hpp"

#include <fmt/format.h>

namespace pb::torch_engine {

Shape FusedLayer::out() const {
    const auto edge = [&](int64_t pixels) { return (pixels + 2 * padding - kernel) / stride + 1; };
    return {.n = in.n, .c = out_channels, .h = edge(in.h), .w = edge(in.w)};
}

std::string FusedLayer::name() const {
    return fmt::format("conv{0}x{0}{1}+bias{2}{3}_{4}to{5}_{6}x{7}x{8}_{9}_{10}", kernel,
                       stride == 1 ? "" : fmt::format("/{}", stride), residual ? "+sum" : "", relu ? "+relu" : "", in.c,
                       out_channels, in.n, in.h, in.w, name_of(precision), name_of(layout));
}

}  // namespace pb::torch_engine
