// Microseconds that a forward call of an engine in a process of its own takes beside its network: the engine here is
// empty (benchmarks/empty_engine.py). "message" hands over one pixel and shows the way there and back alone; "batch"
// adds the copies into and out of the shared memory, of which "turned" changes NHWC to NCHW and back.
//     PATCHBENCH_PYTHON=.engines/onnxruntime/bin/python build/benchmarks/handover_benchmark
#include "patchbench/engine/denoiser.hpp"

#include <benchmark/benchmark.h>

#include <vector>

namespace {

void hand_over(benchmark::State& state, int64_t windows, int64_t edge, pb::Layout layout) {
    const pb::engine::Weights weights =
        pb::engine::make_seeded_weights(pb::network::DncnnShape{.channels = 3, .depth = 2, .width = 1}, 1);
    pb::engine::EngineOptions options;
    options.engine = pb::EngineKind::python;
    options.layout = layout;
    options.worker.file = EMPTY_ENGINE;
    const auto denoiser = pb::engine::make_denoiser(weights, options);
    const pb::Shape shape{windows, 3, edge, edge};
    std::vector<float> in(static_cast<size_t>(shape.elements())), out(in.size());
    const pb::BatchView from{in.data(), shape, pb::DType::f32, layout, {}};
    const pb::BatchView to{out.data(), shape, pb::DType::f32, layout, {}};
    pb::device::Stream stream(options.device);
    denoiser->prepare(from, to, stream);
    for (auto step : state) denoiser->forward(from, to, stream);
    state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * 2 * from.bytes()));
}

BENCHMARK_CAPTURE(hand_over, message, 1, 1, pb::Layout::contiguous)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(hand_over, batch, 4, 256, pb::Layout::contiguous)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(hand_over, batch_turned, 4, 256, pb::Layout::channels_last)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
