// The kernels of the engine native for the instruction set that this program is compiled for, beside sums in double
// precision: each method, odd extents and channels, with ReLU and sums. Prints the largest relative error of each
// case; exit code 1 if one is beyond rounding.
#include "engine/native/kernels.hpp"
#include "engine/native/packed_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <string>

namespace pb::engine::native {
namespace {

constexpr double kMostError = 1e-5;  // of the largest value; with 512 channels roundings add up to 4.5e-6

/// Floats that begin on a cache line, as those of the engine do.
class Floats {
  public:
    explicit Floats(int64_t count)
        : values_(new (std::align_val_t{64}) float[static_cast<size_t>(count)]()), count_(count) {}
    ~Floats() { ::operator delete[](values_, std::align_val_t{64}); }
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;
    [[nodiscard]] float* data() const { return values_; }
    [[nodiscard]] std::span<float> span() const { return {values_, static_cast<size_t>(count_)}; }
    float& operator[](int64_t i) const { return values_[i]; }

    /// From -1 to 1.
    void fill(uint32_t seed) const {
        for (float& value : span()) {
            seed = seed * 1664525 + 1013904223;
            value = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1;
        }
    }

  private:
    float* values_;
    int64_t count_;
};

struct Case {
    int64_t in, out, kernel, stride;
    bool transposed;
    int64_t h, w;  // of the operand
    bool relu, adds;
    int64_t tile = network::kWinogradTile;
};

class Trial {
  public:
    explicit Trial(const Case& c)
        : case_(c),
          layer_{{.out_channels = c.out,
                  .in_channels = c.in,
                  .kernel = c.kernel,
                  .stride = c.stride,
                  .transposed = c.transposed},
                 {.tile = c.tile}},
          h_(c.transposed ? 2 * c.h : c.h / c.stride),
          w_(c.transposed ? 2 * c.w : c.w / c.stride),
          in_(c.h * c.w * c.in),
          summand_(h_ * w_ * c.out),
          out_(h_ * w_ * c.out) {
        in_.fill(1);
        summand_.fill(2);
        weights_ = {layer_, values(c.out * c.in * c.kernel * c.kernel, 3), values(c.out, 4)};
    }

    /// The largest error by the largest value.
    double run() {
        compute();
        double worst = 0, largest = 0;
        for (int64_t y = 0; y < h_; ++y)
            for (int64_t x = 0; x < w_; ++x)
                for (int64_t c = 0; c < case_.out; ++c) {
                    const double exact = exact_value(y, x, c);
                    worst = std::max(worst, std::abs(exact - static_cast<double>(out_[(y * w_ + x) * case_.out + c])));
                    largest = std::max(largest, std::abs(exact));
                }
        return worst / largest;
    }

  private:
    static std::vector<float> values(int64_t count, uint32_t seed) {
        const Floats all(count);
        all.fill(seed);
        return {all.span().begin(), all.span().end()};
    }

    template <class Value>
    static MapRows<Value> rows(Value* values, int64_t h, int64_t w, int64_t channels) {
        return {.values = values, .places = h, .row_floats = w * channels, .channels = channels};
    }

    void compute() {
        const Kernels kernels = find_kernels();
        const Floats packed(layer_.packed_weights()), bias(layer_.packed_bias()), scratch(layer_.scratch());
        pack_weights(layer_, weights_, packed.span());
        pack_bias(layer_, weights_, bias.span());
        const ConvolutionCall call{
            .layer = layer_,
            .in = {rows<const float>(in_.data(), case_.h, case_.w, case_.in)},
            .out = rows(out_.data(), h_, w_, case_.out),
            .summand = case_.adds ? rows<const float>(summand_.data(), h_, w_, case_.out) : MapRows<const float>{},
            .n = 1,
            .h = case_.h,
            .w = case_.w,
            .rows = {0, h_},
            .columns = {0, w_},
            .weights = packed.data(),
            .bias = bias.data(),
            .relu = case_.relu};
        switch (layer_.method()) {
            case network::NativeMethod::winograd: {
                const int64_t tiles = ceil_div(h_, case_.tile) * ceil_div(w_, case_.tile);
                const WinogradBlocks blocks = winograd_blocks(layer_, tiles, 3, kernels.rows);
                return kernels.winograd(call, blocks, {0, blocks.num_items()}, scratch.data());
            }
            case network::NativeMethod::narrow: return kernels.narrow(call, {0, h_});
            case network::NativeMethod::direct: return kernels.direct(call, {0, h_}, scratch.data());
        }
    }

    [[nodiscard]] double weight(int64_t out, int64_t in, int64_t y, int64_t x) const {
        const int64_t outer = case_.transposed ? in : out, inner = case_.transposed ? out : in;
        const int64_t count = case_.transposed ? case_.out : case_.in;
        return weights_.weight[static_cast<size_t>(((outer * count + inner) * case_.kernel + y) * case_.kernel + x)];
    }

    /// Sum over the channels of pixel (y, x) of the operand, which is zero beyond its border.
    [[nodiscard]] double product(int64_t y, int64_t x, int64_t out, int64_t ky, int64_t kx) const {
        double sum = 0;
        if (y < 0 || y >= case_.h || x < 0 || x >= case_.w) return sum;
        for (int64_t c = 0; c < case_.in; ++c)
            sum += weight(out, c, ky, kx) * static_cast<double>(in_[(y * case_.w + x) * case_.in + c]);
        return sum;
    }

    [[nodiscard]] double exact_value(int64_t y, int64_t x, int64_t out) const {
        double sum = weights_.bias[static_cast<size_t>(out)];
        const int64_t padding = case_.kernel == 3 ? 1 : 0;
        if (case_.transposed)
            sum += product(y / 2, x / 2, out, y % 2, x % 2);
        else
            for (int64_t ky = 0; ky < case_.kernel; ++ky)
                for (int64_t kx = 0; kx < case_.kernel; ++kx)
                    sum += product(y * case_.stride + ky - padding, x * case_.stride + kx - padding, out, ky, kx);
        if (case_.adds) sum += static_cast<double>(summand_[(y * w_ + x) * case_.out + out]);
        return case_.relu ? std::max(sum, 0.0) : sum;
    }

    Case case_;
    network::NativeConvolution layer_;
    int64_t h_, w_;  // of the result
    Floats in_, summand_, out_;
    Convolution weights_;
};

std::string text_of(const Case& c) {
    return std::to_string(c.kernel) + "x" + std::to_string(c.kernel) + (c.transposed ? " transposed" : "") + ", " +
           std::to_string(c.in) + " to " + std::to_string(c.out) + ", " + std::to_string(c.h) + " x " +
           std::to_string(c.w) + (c.relu ? ", relu" : "") + (c.adds ? ", sum" : "") + ", tile " +
           std::to_string(c.tile);
}

int run_all() {
    bool is_right = true;
    for (const Case& c :
         {Case{16, 16, 3, 1, false, 8, 12, false, false}, Case{32, 64, 3, 1, false, 13, 22, true, false},
          Case{48, 33, 3, 1, false, 7, 9, false, true}, Case{17, 20, 3, 1, false, 1, 1, true, false},
          Case{512, 32, 3, 1, false, 9, 5, false, false}, Case{32, 48, 3, 1, false, 11, 6, true, false, 2},
          Case{64, 3, 3, 1, false, 9, 17, false, false}, Case{24, 1, 3, 1, false, 5, 4, false, false},
          Case{3, 64, 3, 1, false, 6, 31, true, false}, Case{16, 32, 2, 2, false, 10, 34, false, false},
          Case{32, 16, 2, 2, true, 5, 15, false, false}, Case{8, 8, 1, 1, false, 7, 15, false, true}}) {
        const double error = Trial(c).run();
        std::printf("%-50s %.1e\n", text_of(c).c_str(), error);
        is_right = is_right && error <= kMostError;
    }
    return is_right ? 0 : 1;
}

}  // namespace
}  // namespace pb::engine::native

int main() { return pb::engine::native::run_all(); }
