#include "patchbench/network/memory_plan.hpp"

#include "network/graph_facts.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::network {

namespace {

class Planner {
  public:
    Planner(const Graph& graph, const MemoryPath& path)
        : graph_(graph), path_(path), plan_{steps_of(graph, path.fusing), {}, {}} {
        plan_.block_of.resize(graph.size());
        last_readers_ = last_readers_of(graph, plan_.steps);
    }

    MemoryPlan run() {
        for (size_t s = 0; s < plan_.steps.size(); ++s) {
            place_result(s);
            place_scratch(s);
            for (const size_t map : maps_read(graph_, plan_.steps[s]))
                if (const auto block = plan_.block_of[map]) plan_.blocks[*block].end = s + 1;
        }
        return std::move(plan_);
    }

  private:
    [[nodiscard]] size_t add_block(const MemorySize& size, size_t step) {
        plan_.blocks.push_back({size, step, step + 1});
        return plan_.blocks.size() - 1;
    }

    [[nodiscard]] double map_bytes_per_pixel(size_t map) const {
        return graph_.shape(map).values_per_pixel() * static_cast<double>(path_.value_bytes);
    }

    void place_result(size_t step) {
        const size_t first = plan_.steps[step].first, last = plan_.steps[step].last;
        const bool is_copied = path_.copies_output && !is_sum(graph_[first].kind);
        if (last == graph_.output() && !is_copied) return;
        auto block = block_taken_over(step);
        if (!block) block = add_block({map_bytes_per_pixel(last), 0}, step);
        plan_.block_of[last] = block;
    }

    /// Block of a map that the step may overwrite.
    [[nodiscard]] std::optional<size_t> block_taken_over(size_t step) const {
        for (const size_t map : maps_overwritable(plan_.steps[step]))
            if (last_readers_[map] == step && plan_.block_of[map]) return plan_.block_of[map];
        return std::nullopt;
    }

    [[nodiscard]] std::vector<size_t> maps_overwritable(const Step& step) const {
        if (const auto other = map_summed(graph_, step)) {
            const bool is_convolved = std::ranges::count(operands_of(graph_, step), *other) > 0;  // reads neighbours
            return is_convolved ? std::vector<size_t>{} : std::vector<size_t>{*other};
        }
        const OperationKind kind = graph_[step.first].kind;
        const bool is_pixelwise = kind == OperationKind::relu || is_sum(kind);
        return is_pixelwise ? graph_[step.first].operands : std::vector<size_t>{};
    }

    void place_scratch(size_t step) {
        const size_t index = plan_.steps[step].first;
        if (!is_convolution(graph_[index].kind)) return;
        const TensorShapes shapes = tensor_shapes(graph_, index);
        const bool by_taps = path_.transposes_by_taps && shapes.transposed;
        constexpr int64_t kTaps = 4;
        MemorySize scratch;
        if (by_taps) scratch.bytes_per_pixel = map_bytes_per_pixel(index) / kTaps;
        if (path_.copies_kernels)
            scratch.fixed_bytes = shapes.weight_values() * path_.value_bytes / (by_taps ? kTaps : 1);
        if (scratch != MemorySize{}) (void)add_block(scratch, step);
    }

    const Graph& graph_;
    MemoryPath path_;
    MemoryPlan plan_;
    std::vector<size_t> last_readers_;
};

/// The number of pixels above which `other`, which grows faster, is larger.
double crossing(const MemorySize& size, const MemorySize& other) {
    return static_cast<double>(size.fixed_bytes - other.fixed_bytes) / (other.bytes_per_pixel - size.bytes_per_pixel);
}

/// The size that becomes the largest next when pixels increase from where `size` is the largest; nullopt when none
/// does.
std::optional<MemorySize> find_next_peak(const std::vector<MemorySize>& sizes, const MemorySize& size) {
    std::optional<MemorySize> next;
    for (const MemorySize& other : sizes) {
        if (other.bytes_per_pixel <= size.bytes_per_pixel) continue;
        const auto order = [&](const MemorySize& one) { return std::pair(crossing(size, one), -one.bytes_per_pixel); };
        if (!next || order(other) < order(*next)) next = other;
    }
    return next;
}

}  // namespace

int64_t MemorySize::bytes(int64_t pixels) const {
    return static_cast<int64_t>(std::ceil(bytes_per_pixel * static_cast<double>(pixels))) + fixed_bytes;
}

MemoryPlan plan_memory(const Graph& graph, const MemoryPath& path) { return Planner(graph, path).run(); }

std::optional<size_t> map_overwritten(const Graph& graph, const MemoryPlan& plan, const Step& step) {
    const auto block = plan.block_of[step.last];
    for (const size_t map : maps_read(graph, step))
        if (block && plan.block_of[map] == block) return map;
    return std::nullopt;
}

std::vector<MemorySize> live_sizes(const MemoryPlan& plan) {
    std::vector<MemorySize> sizes(plan.steps.size());
    for (const MemoryBlock& block : plan.blocks)
        for (size_t step = block.begin; step < block.end; ++step) {
            sizes[step].bytes_per_pixel += block.size.bytes_per_pixel;
            sizes[step].fixed_bytes += block.size.fixed_bytes;
        }
    return sizes;
}

std::vector<MemorySize> peak_sizes(const MemoryPlan& plan) {
    const std::vector<MemorySize> sizes = live_sizes(plan);
    const auto order = [](const MemorySize& size) { return std::pair(size.fixed_bytes, size.bytes_per_pixel); };
    std::optional<MemorySize> peak = std::ranges::max(sizes, {}, order);
    std::vector<MemorySize> peaks;
    for (; peak; peak = find_next_peak(sizes, *peak)) peaks.insert(peaks.begin(), *peak);
    return peaks;
}

}  // namespace pb::network
