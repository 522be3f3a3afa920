// A convolution with stride 1 to at most four channels: a vector holds channels of the operand, each result is a sum of
// products over pixels and channels.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

constexpr int64_t kNarrowPixels = 4;

struct NarrowRow {
    std::array<const float*, 3> in{};  // for each row of the kernel; null: beyond the map
    const float* summand = nullptr;    // null: nothing is added
    float* out = nullptr;              // this and `summand`: from the first column that is computed
};

template <int kPixels, int kOutputs>
void narrow_pixels(const ConvolutionCall& call, const NarrowRow& row, int64_t column) {
    const int64_t kernel = call.layer.kernel, channels = call.layer.in_channels;
    Vector sums[kPixels][kOutputs];
#pragma GCC unroll 16
    for (auto& pixel : sums)
#pragma GCC unroll 16
        for (Vector& sum : pixel) sum = hn::Zero(kLanesTag);
    for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
        const float* const line = row.in[static_cast<size_t>(tap / kernel)];
        const int64_t x = column + tap % kernel - call.padding();
        if (line == nullptr || x < 0 || x >= call.w) continue;
        const float* in = line + (x - call.in.front().first_column) * channels;
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
    const int64_t at = (column - call.columns.begin) * kOutputs;
    for (int64_t i = 0; i < kPixels; ++i)
        for (int64_t o = 0; o < kOutputs; ++o) {
            float value = hn::GetLane(hn::SumOfLanes(kLanesTag, sums[i][o])) + call.bias[o];
            if (row.summand != nullptr) value += row.summand[at + i * kOutputs + o];
            row.out[at + i * kOutputs + o] = call.relu && value < 0 ? 0 : value;
        }
}

NarrowRow narrow_row_at(const ConvolutionCall& call, int64_t number) {
    const int64_t window = call.window_of(number), y = call.row_of(number);
    NarrowRow row{.out = call.out.at(window, y, call.columns.begin)};
    if (call.summand.values != nullptr) row.summand = call.summand.at(window, y, call.columns.begin);
    for (int64_t k = 0; k < call.layer.kernel; ++k) {
        const int64_t line = y + k - call.padding();
        if (line >= 0 && line < call.h) row.in[static_cast<size_t>(k)] = call.in.front().row(window, line);
    }
    return row;
}

/// Several pixels at a time where all taps of all of them are inside the map along the row.
template <int kOutputs>
void narrow_row(const ConvolutionCall& call, int64_t number) {
    const NarrowRow row = narrow_row_at(call, number);
    const int64_t padding = call.padding();
    for (int64_t column = call.columns.begin; column < call.columns.end;) {
        const bool together = column >= padding && column + kNarrowPixels + padding <= call.w &&
                              column + kNarrowPixels <= call.columns.end;
        if (together)
            narrow_pixels<kNarrowPixels, kOutputs>(call, row, column);
        else
            narrow_pixels<1, kOutputs>(call, row, column);
        column += together ? kNarrowPixels : 1;
    }
}

void narrow(const ConvolutionCall& call, Range numbers) {
    constexpr std::array<void (*)(const ConvolutionCall&, int64_t), network::kNarrowChannels> kRowOf{
        &narrow_row<1>, &narrow_row<2>, &narrow_row<3>, &narrow_row<4>};
    const auto row_of = kRowOf[static_cast<size_t>(call.layer.out_channels - 1)];
    for (int64_t number = numbers.begin; number < numbers.end; ++number) row_of(call, number);
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
