// Pixels a second of one core in the pipeline's host stages: windows cut out of an image and converted to f32 NHWC
// (gather), and converted back into it (scatter). "hot" writes the same batch again and again, as the pipeline's slots
// do; "cold" walks through batches that no cache holds.
//     taskset -c 1 build/benchmarks/convert_benchmark
#include "device/convert.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

namespace {

constexpr int64_t kImageEdge = 2048;
constexpr int64_t kWindowEdge = 296;  // patch 256, halo 20
constexpr int64_t kWindowPixels = kWindowEdge * kWindowEdge;
constexpr int64_t kChannels = 3;

/// Windows that the destination holds: 4 (4.2 MB of f32) or 256.
enum Destination : int64_t { hot = 4, cold = 256 };

/// Windows walk over the image.
pb::Rect window_rect(int64_t i) {
    const int64_t steps = kImageEdge - kWindowEdge;
    return {(i * 613) % steps, (i * 257) % steps, {kWindowEdge, kWindowEdge}};
}

template <class Sample>
std::vector<Sample> make_image() {
    std::vector<Sample> image(kImageEdge * kImageEdge * kChannels);
    for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<Sample>(i * 2654435761U >> 24);
    return image;
}

template <class Sample>
pb::MutablePixelView rows_of(std::vector<Sample>& image, pb::DType type, int64_t window) {
    auto* first = reinterpret_cast<std::byte*>(image.data());
    return pb::dense_view(first, {kImageEdge, kImageEdge}, kChannels, type).part(window_rect(window));
}

template <class Sample, pb::DType kType, bool kSigma>
void gather(benchmark::State& state) {
    auto image = make_image<Sample>();
    pb::device::Conversion conversion;
    if (kSigma) conversion.sigma = 0.1F;
    constexpr int64_t kOut = kChannels + (kSigma ? 1 : 0);
    std::vector<float> batch(state.range(0) * kWindowPixels * kOut);
    int64_t window = 0;
    for (auto _ : state) {
        const auto window_rows = rows_of(image, kType, window);
        float* out = batch.data() + window % state.range(0) * kWindowPixels * kOut;
        pb::device::convert_rows_to_f32(window_rows, conversion, out, kWindowEdge * kOut);
        ++window;
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * kWindowPixels);
}

template <class Sample, pb::DType kType>
void scatter(benchmark::State& state) {
    auto image = make_image<Sample>();
    std::vector<float> batch(state.range(0) * kWindowPixels * kChannels);
    for (size_t i = 0; i < batch.size(); ++i) batch[i] = static_cast<float>(i % 1009) / 1000.0F;
    int64_t window = 0;
    for (auto _ : state) {
        const float* in = batch.data() + window % state.range(0) * kWindowPixels * kChannels;
        pb::device::convert_rows_from_f32(in, kWindowEdge * kChannels, {}, rows_of(image, kType, window));
        ++window;
        benchmark::ClobberMemory();
    }
    state.SetItemsProcessed(state.iterations() * kWindowPixels);
}

BENCHMARK(gather<uint8_t, pb::DType::u8, false>)->Name("gather/u8/rgb")->Arg(hot)->Arg(cold);
BENCHMARK(gather<uint8_t, pb::DType::u8, true>)->Name("gather/u8/rgb+sigma")->Arg(hot)->Arg(cold);
BENCHMARK(gather<uint16_t, pb::DType::u16, false>)->Name("gather/u16/rgb")->Arg(hot)->Arg(cold);
BENCHMARK(gather<float, pb::DType::f32, true>)->Name("gather/f32/rgb+sigma")->Arg(hot)->Arg(cold);
BENCHMARK(scatter<uint8_t, pb::DType::u8>)->Name("scatter/u8/rgb")->Arg(hot)->Arg(cold);
BENCHMARK(scatter<uint16_t, pb::DType::u16>)->Name("scatter/u16/rgb")->Arg(hot)->Arg(cold);
BENCHMARK(scatter<float, pb::DType::f32>)->Name("scatter/f32/rgb")->Arg(hot)->Arg(cold);

}  // namespace
