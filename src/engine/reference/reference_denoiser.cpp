#include "engine/engines.hpp"
#include "engine/reference/map.hpp"
#include "engine/windows.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/views.hpp"

#include <utility>

namespace pb::engine {

namespace {

using reference::Map;

template <class Visit>
void for_each_sample(const BatchView& view, int64_t n, Map& map, Visit visit) {
    const Strides strides = strides_of(view.shape, view.layout);
    auto* const samples = static_cast<float*>(view.pointer) + n * strides.n;
    for (int64_t c = 0; c < map.c; ++c)
        for (int64_t y = 0; y < map.h; ++y)
            for (int64_t x = 0; x < map.w; ++x)
                visit(map.row(c, y)[x], samples[c * strides.c + y * strides.h + x * strides.w]);
}

/// Computes the graph operation by operation. A map is freed after its last reader.
class ReferenceNetwork {
  public:
    explicit ReferenceNetwork(Weights weights)
        : weights_(std::move(weights)), graph_(weights_.graph()), last_readers_(graph_.size()) {
        for (size_t i = 0; i < graph_.size(); ++i)
            for (const size_t operand : graph_[i].operands) last_readers_[operand] = i;
    }

    [[nodiscard]] Map run(const Map& in) const {
        std::vector<Map> maps{in};
        for (size_t i = 1; i < graph_.size(); ++i) {
            maps.push_back(compute(graph_[i], maps));
            for (const size_t operand : graph_[i].operands)
                if (last_readers_[operand] == i) maps[operand] = Map();
        }
        return std::move(maps.back());
    }

  private:
    [[nodiscard]] Map compute(const network::Operation& operation, const std::vector<Map>& maps) const {
        const auto operand = [&](size_t i) -> const Map& { return maps[operation.operands[i]]; };
        switch (operation.kind) {
            case network::OperationKind::input: break;
            case network::OperationKind::convolution:
            case network::OperationKind::transposed_convolution:
                return reference::convolve(operand(0), weights_.convolution(operation.filter->weights));
            case network::OperationKind::relu: return reference::relu(operand(0));
            case network::OperationKind::add: return reference::add(operand(0), operand(1));
            case network::OperationKind::subtract: return reference::subtract(operand(0), operand(1));
            case network::OperationKind::concatenate: return reference::concatenate(operation.operands, maps);
            case network::OperationKind::max_pool: return reference::max_pool_2x2(operand(0));
            case network::OperationKind::upsample: return reference::double_nearest(operand(0));
        }
        throw Error("engine: an operation that the engine reference does not know");
    }

    Weights weights_;
    network::Graph graph_;
    std::vector<size_t> last_readers_;  // of each map: the last operation that reads it
};

class ReferenceDenoiser final : public Denoiser {
  public:
    ReferenceDenoiser(const Weights& weights, const EngineOptions& options)
        : expected_(expected_views(weights, options)), network_(weights) {}

    void prepare(const BatchView& in, const BatchView& out, device::Stream&) override {
        check_views(expected_, in, out);
    }

    void forward(const BatchView& in, const BatchView& out, device::Stream&) override {
        check_views(expected_, in, out);
        for (int64_t n = 0; n < in.shape.n; ++n) {
            Map x(in.shape.c, in.shape.h, in.shape.w);
            for_each_sample(in, n, x, [](double& value, float sample) { value = sample; });
            Map y = network_.run(x);
            for_each_sample(out, n, y, [](double value, float& sample) { sample = static_cast<float>(value); });
        }
    }

  private:
    ExpectedViews expected_;
    ReferenceNetwork network_;
};

}  // namespace

std::unique_ptr<Denoiser> make_reference_denoiser(const Weights& weights, const EngineOptions& options) {
    return std::make_unique<ReferenceDenoiser>(weights, options);
}

}  // namespace pb::engine
