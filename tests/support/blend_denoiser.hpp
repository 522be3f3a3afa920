// A network that costs nothing and sees its neighbours: every value becomes a blend of itself, the value on its left,
// the one above and the extra channel; infinity where that is large. Any misplaced, stale or unwritten value changes
// the output's bits.
#pragma once

#include "base/half.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <cmath>
#include <cstring>

namespace pb::test {

/// The windows of a forward call: what one value of the output is made from.
struct BlendWindows {
    BlendWindows(const BatchView& in_view, const BatchView& out_view)
        : out(out_view.shape), in_channels(in_view.shape.c), dtype(in_view.dtype), layout(in_view.layout) {}

    Shape out;
    int64_t in_channels;
    DType dtype;
    Layout layout;
};

inline int64_t blend_place(const BlendWindows& windows, int64_t channels, int64_t n, int64_t c, int64_t y, int64_t x) {
    const Shape& s = windows.out;
    return windows.layout == Layout::channels_last ? ((n * s.h + y) * s.w + x) * channels + c
                                                   : ((n * channels + c) * s.h + y) * s.w + x;
}

inline float blend_load(const std::byte* values, DType dtype, int64_t place) {
    if (dtype == DType::f32) return reinterpret_cast<const float*>(values)[place];
    const uint16_t bits = reinterpret_cast<const uint16_t*>(values)[place];
    return dtype == DType::bf16 ? bf16_value(bits) : f16_value(bits);
}

inline void blend_store(std::byte* values, DType dtype, int64_t place, float value) {
    if (dtype == DType::f32)
        reinterpret_cast<float*>(values)[place] = value;
    else
        reinterpret_cast<uint16_t*>(values)[place] = dtype == DType::bf16 ? bf16_bits(value) : f16_bits(value);
}

/// Value `i` of the output, in the order n, c, y, x.
inline void blend_value(const std::byte* in, std::byte* out, const BlendWindows& windows, int64_t i) {
    const Shape& s = windows.out;
    const int64_t x = i % s.w, y = i / s.w % s.h, c = i / (s.w * s.h) % s.c, n = i / (s.w * s.h * s.c);
    const auto load = [&](int64_t channel, int64_t row, int64_t column) {
        return blend_load(in, windows.dtype, blend_place(windows, windows.in_channels, n, channel, row, column));
    };
    const float extra = windows.in_channels > s.c ? load(s.c, y, x) : 0.0F;
    const float value =
        0.5F * load(c, y, x) + 0.25F * load(c, y, x > 0 ? x - 1 : x) + 0.25F * load(c, y > 0 ? y - 1 : y, x);
    constexpr float kLarge = 0.7F;
    blend_store(out, windows.dtype, blend_place(windows, s.c, n, c, y, x),
                value > kLarge ? HUGE_VALF : value - 0.0625F * extra);
}

/// On the CPU.
class BlendDenoiser final : public engine::Denoiser {
  public:
    void prepare(const BatchView&, const BatchView&, device::Stream&) override { ++num_prepared_; }
    void forward(const BatchView& in, const BatchView& out, device::Stream&) override {
        const BlendWindows windows(in, out);
        for (int64_t i = 0; i < out.shape.elements(); ++i)
            blend_value(static_cast<const std::byte*>(in.pointer), static_cast<std::byte*>(out.pointer), windows, i);
    }
    [[nodiscard]] int num_prepared() const { return num_prepared_; }

  private:
    int num_prepared_ = 0;
};

}  // namespace pb::test
