#include "engine/reference/map.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace pb::engine::reference {

namespace {

/// One kernel weight applied to one pair of channels: out(y, x) += weight * in(y * stride + dy, x * stride + dx).
void accumulate(double* out_channel, int64_t out_h, int64_t out_w, const Map& in, int64_t channel, int64_t stride,
                int64_t dy, int64_t dx, double weight) {
    for (int64_t y = 0; y < out_h; ++y) {
        const int64_t in_y = y * stride + dy;
        if (in_y < 0 || in_y >= in.h) continue;
        const double* source = in.row(channel, in_y);
        const int64_t begin =
            dx < 0 ? 1 : 0;  // kernels extend at most one pixel beyond the map, where the padding is zero
        const int64_t end = (out_w - 1) * stride + dx >= in.w ? out_w - 1 : out_w;
        for (int64_t x = begin; x < end; ++x) out_channel[y * out_w + x] += weight * source[x * stride + dx];
    }
}

Map biased(const Convolution& layer, int64_t h, int64_t w) {
    Map out(layer.out_channels, h, w);
    if (layer.bias.empty()) return out;
    for (int64_t o = 0; o < out.c; ++o) std::fill_n(out.row(o, 0), h * w, layer.bias[static_cast<size_t>(o)]);
    return out;
}

Map convolve_direct(const Map& x, const Convolution& layer) {
    const int64_t k = layer.kernel, padding = k == 3 ? 1 : 0;
    Map out = biased(layer, (x.h + 2 * padding - k) / layer.stride + 1, (x.w + 2 * padding - k) / layer.stride + 1);
    const float* weight = layer.weight.data();  // [out, in, ky, kx]
    for (int64_t o = 0; o < out.c; ++o)
        for (int64_t i = 0; i < x.c; ++i)
            for (int64_t tap = 0; tap < k * k; ++tap)
                accumulate(out.row(o, 0), out.h, out.w, x, i, layer.stride, tap / k - padding, tap % k - padding,
                           *weight++);
    return out;
}

/// Kernel edge equals stride, so every output pixel has one source pixel.
Map convolve_transposed(const Map& x, const Convolution& layer) {
    const int64_t k = layer.kernel;
    Map out = biased(layer, x.h * k, x.w * k);
    for (int64_t i = 0; i < x.c; ++i)
        for (int64_t o = 0; o < out.c; ++o) {
            const float* weight = layer.weight.data() + (i * out.c + o) * k * k;  // [in, out, ky, kx]
            for (int64_t y = 0; y < out.h; ++y)
                for (int64_t column = 0; column < out.w; ++column)
                    out.row(o, y)[column] += weight[y % k * k + column % k] * x.row(i, y / k)[column / k];
        }
    return out;
}

Map combine(Map a, const Map& b, auto operation) {
    std::transform(a.values.begin(), a.values.end(), b.values.begin(), a.values.begin(), operation);
    return a;
}

}  // namespace

Map convolve(const Map& x, const Convolution& layer) {
    return layer.transposed ? convolve_transposed(x, layer) : convolve_direct(x, layer);
}

Map relu(Map x) {
    for (double& value : x.values) value = std::max(value, 0.0);
    return x;
}

Map add(Map a, const Map& b) { return combine(std::move(a), b, std::plus<>()); }

Map subtract(Map a, const Map& b) { return combine(std::move(a), b, std::minus<>()); }

Map max_pool_2x2(const Map& x) {
    Map out(x.c, x.h / 2, x.w / 2);
    for (int64_t c = 0; c < out.c; ++c)
        for (int64_t y = 0; y < out.h; ++y)
            for (int64_t column = 0; column < out.w; ++column) {
                const double* above = x.row(c, 2 * y) + 2 * column;
                const double* below = x.row(c, 2 * y + 1) + 2 * column;
                out.row(c, y)[column] = std::max({above[0], above[1], below[0], below[1]});
            }
    return out;
}

Map double_nearest(const Map& x) {
    Map out(x.c, 2 * x.h, 2 * x.w);
    for (int64_t c = 0; c < out.c; ++c)
        for (int64_t y = 0; y < out.h; ++y)
            for (int64_t column = 0; column < out.w; ++column) out.row(c, y)[column] = x.row(c, y / 2)[column / 2];
    return out;
}

Map concatenate(const std::vector<size_t>& operands, const std::vector<Map>& maps) {
    Map out = maps[operands.front()];
    for (const size_t operand : std::span(operands).subspan(1)) {
        const Map& next = maps[operand];
        out.c += next.c;
        out.values.insert(out.values.end(), next.values.begin(), next.values.end());
    }
    return out;
}

}  // namespace pb::engine::reference
