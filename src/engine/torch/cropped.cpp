#include "engine/torch/cropped.hpp"

#include <algorithm>
#include <utility>

namespace pb::engine::torch_engine {

Cropped::Cropped(const Network& network, AlikeWindows windows, at::TensorOptions options, Runner runner)
    : network_(network), windows_(std::move(windows)), options_(options), runner_(std::move(runner)) {}

void Cropped::run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    windows_.each(in, out, cores, [this](const BatchView& some_in, const BatchView& some_out, const Rect& core) {
        run_alike(some_in, some_out, core, nullptr);
    });
}

std::vector<StepTime> Cropped::run_by_steps(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    if (options_.device().is_cuda()) return {};
    const auto timed = [this](const BatchView& some_in, const BatchView& some_out, const Rect& core, StepClock& clock) {
        run_alike(some_in, some_out, core, &clock);
    };
    return windows_.each_by_steps(in, out, cores, timed);
}

void Cropped::run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) {
    const auto& steps = steps_for(core);
    runner_([&] {
        at::Tensor result = as_tensor(out, options_);
        network_.run_pieces(steps, as_tensor(in, options_), result, clock);
    });
}

const std::vector<network::PieceStep>& Cropped::steps_for(const Rect& core) {
    auto kind = std::ranges::find(kinds_, core, &Kind::core);
    if (kind == kinds_.end()) kind = kinds_.insert(kinds_.end(), {core, windows_.crop().steps_for(core)});
    return kind->steps;
}

}  // namespace pb::engine::torch_engine
