// A convolution with stride 1 to at most four channels: a vector holds channels of the operand, each result is a sum of
// products over pixels and channels.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

constexpr int64_t kNarrowPixels = 4;

struct NarrowPlace {
    int64_t window = 0, row = 0, column = 0;  // of the result
};

template <int kPixels, int kOutputs>
void narrow_pixels(const ConvolutionCall& call, const NarrowPlace& place) {
    const int64_t kernel = call.layer.kernel, channels = call.layer.in_channels;
    Vector sums[kPixels][kOutputs];
#pragma GCC unroll 16
    for (auto& pixel : sums)
#pragma GCC unroll 16
        for (Vector& sum : pixel) sum = hn::Zero(kLanesTag);
    for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
        const int64_t y = place.row + tap / kernel - call.padding(), x = place.column + tap % kernel - call.padding();
        if (y < 0 || y >= call.h || x < 0 || x >= call.w) continue;
        const float* in = call.in + ((place.window * call.h + y) * call.w + x) * channels;
        const float* weights = call.weights + tap * kOutputs * channels;
        for (int64_t c = 0; c < channels; c += kLanes) {
            Vector weight[kOutputs];
#pragma GCC unroll 16
            for (int o = 0; o < kOutputs; ++o) weight[o] = load(weights + o * channels + c);
#pragma GCC unroll 16
            for (int i = 0; i < kPixels; ++i) {
                const Vector value = load(in + i * channels + c);
#pragma GCC unroll 16
                for (int o = 0; o < kOutputs; ++o) sums[i][o] = hn::MulAdd(value, weight[o], sums[i][o]);
            }
        }
    }
    const int64_t at = ((place.window * call.h + place.row) * call.w + place.column) * kOutputs;
    for (int64_t i = 0; i < kPixels; ++i)
        for (int64_t o = 0; o < kOutputs; ++o) {
            float value = hn::GetLane(hn::SumOfLanes(kLanesTag, sums[i][o])) + call.bias[o];
            if (call.summand != nullptr) value += call.summand[at + i * kOutputs + o];
            call.out[at + i * kOutputs + o] = call.relu && value < 0 ? 0 : value;
        }
}

/// Several pixels at a time where all taps of all of them are inside the map along the row.
template <int kOutputs>
void narrow_row(const ConvolutionCall& call, int64_t out_row) {
    NarrowPlace place{.window = out_row / call.h, .row = out_row % call.h};
    const int64_t padding = call.padding();
    while (place.column < call.w) {
        const bool together = place.column >= padding && place.column + kNarrowPixels + padding <= call.w;
        if (together)
            narrow_pixels<kNarrowPixels, kOutputs>(call, place);
        else
            narrow_pixels<1, kOutputs>(call, place);
        place.column += together ? kNarrowPixels : 1;
    }
}

void narrow(const ConvolutionCall& call, Range out_rows) {
    constexpr std::array<void (*)(const ConvolutionCall&, int64_t), network::kNarrowChannels> kRowOf{
        &narrow_row<1>, &narrow_row<2>, &narrow_row<3>, &narrow_row<4>};
    const auto row_of = kRowOf[static_cast<size_t>(call.layer.out_channels - 1)];
    for (int64_t row = out_rows.begin; row < out_rows.end; ++row) row_of(call, row);
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
