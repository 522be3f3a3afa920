// Legal graphs that no network looks like: maps that are read once or often, late or soon, at any scale.
#pragma once

#include "patchbench/network/graph.hpp"

#include <algorithm>
#include <random>

namespace pb::test {

class RandomGraph {
  public:
    /// All maps but the last have a multiple of `unit` channels.
    explicit RandomGraph(uint32_t seed, int64_t unit = 1) : random_(seed), unit_(unit) {}

    network::Graph make() {
        const int64_t channels = width(4);
        note(net_.input(channels), {channels, 1});
        const size_t count = 3 + below(20);
        while (shapes_.size() < count) append_one();
        append_output();
        return net_.graph();
    }

  private:
    static constexpr int64_t kMostScale = 8;

    size_t below(size_t bound) { return random_() % bound; }
    /// Channels, of `count` possible numbers.
    int64_t width(size_t count) { return unit_ * static_cast<int64_t>(1 + below(count)); }
    size_t any() { return below(2) == 0 ? shapes_.size() - 1 : below(shapes_.size()); }
    std::string name() { return "layer" + std::to_string(shapes_.size()); }

    struct Made {
        int64_t channels, scale;
    };

    void note(size_t, Made made, std::initializer_list<size_t> operands = {}) {
        shapes_.push_back(made);
        is_used_.push_back(false);
        for (const size_t operand : operands) is_used_[operand] = true;
    }

    void append_one() {
        const size_t x = any();
        const auto [channels, scale] = shapes_[x];
        const bool grows = scale > 1, shrinks = scale < kMostScale;
        switch (below(8)) {
            case 0: return note(net_.relu(x), {channels, scale}, {x});
            case 1:
                if (!shrinks) return;
                return note(net_.max_pool(x), {channels, scale * 2}, {x});
            case 2:
                if (!grows) return;
                return note(net_.upsample(x), {channels, scale / 2}, {x});
            case 3:
                if (!grows) return;
                return note(net_.convolve_transposed(x, 2 * unit_, name()), {2 * unit_, scale / 2}, {x});
            case 4:
            case 5: return append_sum(x);
            default: return append_convolution(x);
        }
    }

    void append_convolution(size_t x) {
        constexpr std::array<std::pair<int64_t, int64_t>, 5> kFilters{{{3, 1}, {1, 1}, {3, 2}, {2, 2}, {1, 2}}};
        const auto [kernel, stride] = shapes_[x].scale < kMostScale ? kFilters[below(5)] : kFilters[below(2)];
        const int64_t channels = width(3);
        note(net_.convolve(x, channels, {.weights = name(), .kernel = kernel, .stride = stride}),
             {channels, shapes_[x].scale * stride}, {x});
    }

    void append_sum(size_t x) {
        const size_t other = any();
        if (shapes_[x].scale != shapes_[other].scale) return;
        const int64_t scale = shapes_[x].scale, a = shapes_[x].channels, b = shapes_[other].channels;
        if (a != b)
            note(net_.concatenate(x, other), {a + b, scale}, {x, other});
        else if (below(3) == 0)
            note(net_.subtract(x, other), {a, scale}, {x, other});
        else
            note(net_.add(x, other), {a, scale}, {x, other});
    }

    /// All that nothing read, brought to full extent and joined.
    void append_output() {
        network::Operation join{.kind = network::OperationKind::concatenate};
        const size_t count = shapes_.size();
        for (size_t i = 0; i < count; ++i) {
            if (is_used_[i]) continue;
            size_t x = i;
            for (int64_t scale = shapes_[i].scale; scale > 1; scale /= 2) x = net_.upsample(x);
            join.operands.push_back(x);
        }
        const size_t all = join.operands.size() == 1 ? join.operands.front() : net_.append(join);
        const size_t last = net_.convolve(all, 1 + static_cast<int64_t>(below(2)), {.weights = "last"});
        if (below(3) == 0) net_.relu(last);
    }

    std::mt19937 random_;
    int64_t unit_;
    network::GraphBuilder net_;
    std::vector<Made> shapes_;
    std::vector<bool> is_used_;
};

}  // namespace pb::test
