#include "patchbench/network/memory_plan.hpp"

#include "network/graph_facts.hpp"
#include "network/native_layout.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::network {

namespace {

/// How often the map of each operation is read.
std::vector<size_t> num_uses(const Graph& graph) {
    std::vector<size_t> uses(graph.size());
    for (size_t i = 0; i < graph.size(); ++i)
        for (const size_t operand : graph[i].operands) ++uses[operand];
    return uses;
}

bool may_fuse(const Graph& graph, size_t index, const Fusing& fusing) {
    const OperationKind kind = graph[index].kind;
    return (kind == OperationKind::relu && fusing.relu) ||
           (kind == OperationKind::add && fusing.sum && index != graph.output());
}

/// The convolution that can be computed together with operation `index`; `index` itself when there is none.
size_t fused_with(const Graph& graph, size_t index, const std::vector<size_t>& uses) {
    size_t found = index;
    for (const size_t operand : graph[index].operands)
        if (graph[operand].kind == OperationKind::convolution && uses[operand] == 1)
            found = found == index ? operand : std::max(found, operand);
    return found;
}

/// By operation, the concatenations that have no map.
std::vector<bool> concatenations_fused(const Graph& graph, const Fusing& fusing) {
    std::vector<bool> is_fused(graph.size());
    for (size_t i = 0; i < graph.size(); ++i)
        is_fused[i] = fusing.concatenation && graph[i].kind == OperationKind::concatenate && is_read_in_parts(graph, i);
    return is_fused;
}

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

std::vector<Step> steps_of(const Graph& graph, const Fusing& fusing) {
    const std::vector<size_t> uses = num_uses(graph);
    std::vector<size_t> first(graph.size());
    const std::vector<bool> is_joined = concatenations_fused(graph, fusing);
    std::vector<bool> is_taken = is_joined;
    for (size_t i = 0; i < graph.size(); ++i) {
        first[i] = may_fuse(graph, i, fusing) ? fused_with(graph, i, uses) : i;
        if (first[i] != i) is_taken[first[i]] = true;
    }
    std::vector<Step> steps;
    for (size_t i = 1; i < graph.size(); ++i)
        if (!is_taken[i]) steps.push_back({first[i], i, is_joined[graph[first[i]].operands.front()]});
    return steps;
}

std::optional<size_t> map_summed(const Graph& graph, const Step& step) {
    if (!step.is_fused() || graph[step.last].kind != OperationKind::add) return std::nullopt;
    const auto& operands = graph[step.last].operands;
    return operands[0] == step.first ? operands[1] : operands[0];
}

const std::vector<size_t>& operands_of(const Graph& graph, const Step& step) {
    const std::vector<size_t>& operands = graph[step.first].operands;
    return step.joins ? graph[operands.front()].operands : operands;
}

std::vector<size_t> maps_read(const Graph& graph, const Step& step) {
    std::vector<size_t> maps = operands_of(graph, step);
    if (const auto other = map_summed(graph, step)) maps.push_back(*other);
    return maps;
}

std::vector<size_t> last_readers_of(const Graph& graph, const std::vector<Step>& steps) {
    std::vector<size_t> readers(graph.size());
    for (size_t s = 0; s < steps.size(); ++s)
        for (const size_t map : maps_read(graph, steps[s])) readers[map] = s;
    return readers;
}

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
