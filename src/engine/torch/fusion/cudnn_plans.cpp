#include "base/stopwatch.hpp"
#include "base/user_cache.hpp"
#include "engine/torch/fusion/fusion.hpp"
#include "engine/torch/tensors.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/views.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cudnn/Handle.h>
#include <ATen/ops/empty.h>
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <utility>
#include <vector>

// Note [The form that cuDNN has kernels for]
// cuDNN has compiled kernels for a graph of convolution, sum, bias and ReLU in this order, always with the bias. It
// compiles any other order, and ReLU or sum without bias, at run time, which needs a driver and takes seconds. A layer
// without bias therefore gets a bias of zeros.
namespace pb::engine::torch_engine {

namespace {

namespace fe = cudnn_frontend;

enum Operand : int64_t { kX = 1, kWeight, kBias, kResidual, kY };  // the order of FusedOperands, and of CudnnPlan::run

void require_good(fe::error_t error, const std::string& action) {
    if (error.is_bad()) throw Error("cuDNN could not " + action + ": " + error.get_message());
}

fe::DataType_t data_type(Precision precision) {
    switch (storage_of(precision)) {
        case DType::bf16: return fe::DataType_t::BFLOAT16;
        case DType::f16: return fe::DataType_t::HALF;
        default: return fe::DataType_t::FLOAT;
    }
}

fe::graph::Tensor_attributes map_of(Operand operand, const Shape& shape, Layout layout) {
    const auto [n, c, h, w] = strides_of(shape, layout);
    return fe::graph::Tensor_attributes()
        .set_uid(operand)
        .set_dim({shape.n, shape.c, shape.h, shape.w})
        .set_stride({n, c, h, w});
}

/// `layer` as a graph of cuDNN that accumulates in fp32.
std::unique_ptr<fe::graph::Graph> make_graph(const FusedLayer& layer) {
    const Shape out = layer.out();
    const Shape weight{.n = layer.out_channels, .c = layer.in.c, .h = layer.kernel, .w = layer.kernel};
    auto graph = std::make_unique<fe::graph::Graph>();
    graph->set_io_data_type(data_type(layer.precision))
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
    const auto plus = [&](const auto& sum, Operand operand, const Shape& shape) {
        const auto term = graph->tensor(map_of(operand, shape, layer.layout));
        return graph->pointwise(sum, term, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::ADD));
    };
    auto y = graph->conv_fprop(graph->tensor(map_of(kX, layer.in, layer.layout)),
                               graph->tensor(map_of(kWeight, weight, layer.layout)),
                               fe::graph::Conv_fprop_attributes()
                                   .set_padding({layer.padding, layer.padding})
                                   .set_stride({layer.stride, layer.stride})
                                   .set_dilation({1, 1}));
    if (layer.residual) y = plus(y, kResidual, out);
    y = plus(y, kBias, {.n = 1, .c = layer.out_channels, .h = 1, .w = 1});
    if (layer.relu) y = graph->pointwise(y, fe::graph::Pointwise_attributes().set_mode(fe::PointwiseMode_t::RELU_FWD));
    const auto y_map = map_of(kY, out, layer.layout);
    y->set_output(true).set_uid(kY).set_dim(y_map.get_dim()).set_stride(y_map.get_stride());
    require_good(graph->validate(), "accept the graph");
    return graph;
}

/// Whether a proposed plan may run: it must give the same bits at each call, and use no tensor cores for plain fp32.
void exclude_plans(fe::graph::Graph& graph, Precision precision) {
    std::vector<fe::NumericalNote_t> unwanted{fe::NumericalNote_t::NONDETERMINISTIC};
    if (precision == Precision::fp32)
        unwanted.insert(unwanted.end(), {fe::NumericalNote_t::TENSOR_CORE, fe::NumericalNote_t::DOWN_CONVERT_INPUTS});
    graph.deselect_numeric_notes(unwanted);
}

class CudnnPlan final : public FusedPlan {
  public:
    CudnnPlan(std::shared_ptr<fe::graph::Graph> graph, int64_t index) : graph_(std::move(graph)), index_(index) {}

    void run(const FusedOperands& operands) override {
        std::vector<void*> pointers;  // by ascending number
        for (const at::Tensor* each : {&operands.x, &operands.weight, &operands.bias, &operands.residual, &operands.y})
            if (each->defined()) pointers.push_back(each->data_ptr());
        const at::Tensor workspace =
            at::empty({graph_->get_workspace_size_plan_at_index(index_)}, operands.x.options().dtype(at::kByte));
        require_good(graph_->execute_plan_at_index(at::native::getCudnnHandle(), pointers.data(),
                                                   static_cast<int>(pointers.size()), workspace.data_ptr(), index_),
                     "run a fused layer");
    }

    [[nodiscard]] std::string name() const {
        std::string name;
        require_good(graph_->get_plan_name_at_index(index_, name), "name a plan");
        return name;
    }

  private:
    std::shared_ptr<fe::graph::Graph> graph_;  // owns all plans that were built
    int64_t index_;
};

/// Seconds of the fastest of some calls; infinity when the plan does not run.
double seconds_of(FusedPlan& plan, const FusedOperands& operands) {
    constexpr int kCalls = 3;
    constexpr double kSecondsPerMs = 1e-3;
    double fastest = std::numeric_limits<double>::infinity();
    try {
        plan.run(operands);
        for (int call = 0; call < kCalls; ++call) {
            at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
            begin.record();
            plan.run(operands);
            end.record();
            end.synchronize();
            fastest = std::min(fastest, kSecondsPerMs * begin.elapsed_time(end));
        }
    } catch (const c10::OutOfMemoryError&) {
        // no memory for its workspace: another plan may need less
    } catch (const Error&) {
        // cuDNN refuses a plan that it built
    }
    return fastest;
}

/// Name of device and versions, as in "nvidia-h200-sm90-cudnn91900-frontend13200".
std::string device_and_versions(int index) {
    const cudaDeviceProp& device = *at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index));
    std::string name = fmt::format("{}-sm{}{}-cudnn{}-frontend{}", device.name, device.major, device.minor,
                                   cudnnGetVersion(), CUDNN_FRONTEND_VERSION);
    for (char& letter : name)
        letter = std::isalnum(static_cast<unsigned char>(letter)) != 0
                     ? static_cast<char>(std::tolower(static_cast<unsigned char>(letter)))
                     : '-';
    return name;
}

class CudnnPlans final : public FusedPlans {
  public:
    CudnnPlans(int index, bool autotune, const std::filesystem::path& cache)
        : autotune_(autotune), cache_(cache.empty() ? cache : cache / "fusion" / device_and_versions(index)) {}

    FusedOffer find(const FusedLayer& layer, const FusedOperands& operands) override {
        try {
            const std::shared_ptr<fe::graph::Graph> graph = make_graph(layer);
            require_good(graph->build_operation_graph(at::native::getCudnnHandle()), "build the graph");
            require_good(graph->create_execution_plans({fe::HeurMode_t::A}), "propose a plan");
            exclude_plans(*graph, layer.precision);
            const auto chosen = choose(graph, layer, operands);
            if (!chosen) return {nullptr, "cuDNN can build and run none of the plans that it proposes"};
            return {std::make_unique<CudnnPlan>(*chosen), {}};
        } catch (const Error& error) {
            return {nullptr, error.what()};
        }
    }

  private:
    [[nodiscard]] std::optional<CudnnPlan> choose(const std::shared_ptr<fe::graph::Graph>& graph,
                                                  const FusedLayer& layer, const FusedOperands& operands) const {
        const std::optional<std::string> known = autotune_ ? cache_.find(layer.name()) : std::nullopt;
        if (known)
            for (int64_t i = 0; i < graph->get_execution_plan_count(); ++i)
                if (CudnnPlan plan(graph, i); plan.name() == *known && graph->build_plan_at_index(i).is_good())
                    return plan;
        std::vector<CudnnPlan> built = first_plans(graph);
        if (!autotune_) return built.empty() ? std::nullopt : std::optional(built.front());
        std::vector<double> seconds;
        for (CudnnPlan& plan : built) seconds.push_back(seconds_of(plan, operands));
        const auto fastest = fastest_of(seconds);
        if (!fastest) return std::nullopt;
        cache_.keep(layer.name(), built[*fastest].name());
        return built[*fastest];
    }

    /// In the order of cuDNN's preference.
    [[nodiscard]] std::vector<CudnnPlan> first_plans(const std::shared_ptr<fe::graph::Graph>& graph) const {
        const auto build = [&](int64_t i) {
            return graph->build_plan_at_index(i).is_good() ? std::optional(CudnnPlan(graph, i)) : std::nullopt;
        };
        return build_first(graph->get_execution_plan_count(), autotune_ ? kTimed : SearchLimits{}, build,
                           monotonic_seconds);
    }

    static constexpr SearchLimits kTimed{.plans = 8, .seconds = 1};
    bool autotune_;
    UserCache cache_;
};

}  // namespace

std::unique_ptr<FusedPlans> make_cudnn_plans(int index, bool autotune) {
    return std::make_unique<CudnnPlans>(index, autotune, cache_folder());
}

int64_t count_proposed_plans(const FusedLayer& layer, const std::string& device) {
    auto properties = std::make_shared<fe::DeviceProperties>();
    require_good(properties->deserialize({device.begin(), device.end()}), "read the description of the device");
    const auto graph = make_graph(layer);
    graph->set_device_properties(properties);
    require_good(graph->build_operation_graph(), "build the graph");
    require_good(graph->create_execution_plans({fe::HeurMode_t::A}), "propose a plan");
    return graph->get_execution_plan_count();
}

}  // namespace pb::engine::torch_engine
