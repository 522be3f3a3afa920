#include "comm/metric_reduction.hpp"

#include "comm/nccl/backend.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

namespace pb::comm {
namespace {

class MpiReduction final : public MetricReduction {
  public:
    explicit MpiReduction(const Communicator& communicator)
        : communicator_(communicator.split(0, communicator.rank())) {}

    [[nodiscard]] std::string_view name() const override { return "MPI"; }

    [[nodiscard]] std::vector<std::vector<double>> all_gather(std::span<const double> values) override {
        require_equal_lengths(communicator_, values);
        return communicator_.all_gather(values);
    }

    [[nodiscard]] std::vector<double> max(std::span<const double> values) override {
        mpi::step_together(communicator_, [&] { require_no_nan(values); });
        std::vector<double> largest(values.begin(), values.end());
        for (const auto& row : all_gather(values))
            for (size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], row[i]);
        return largest;
    }

  private:
    Communicator communicator_;
};

}  // namespace

std::optional<std::string> find_nccl_obstacle(DeviceId device, bool own_device) {
    if (!nccl_is_built_in()) return "this build has no NCCL: configure with -DPATCHBENCH_CUDA=ON";
    if (!device.is_cuda()) return "computes on the CPU: NCCL needs a CUDA device on every rank";
    if (!own_device) return "shares its GPU with another rank: NCCL needs one GPU per rank";
    return std::nullopt;
}

void require_no_nan(std::span<const double> values) {
    const auto nan = std::ranges::find_if(values, [](double value) { return std::isnan(value); });
    require(nan == values.end(), fmt::format("figure {} to be reduced to its maximum is NaN", nan - values.begin()));
}

void require_equal_lengths(const Communicator& communicator, std::span<const double> values) {
    const auto length = static_cast<double>(values.size());
    const double longest = communicator.max(length);
    mpi::step_together(communicator, [&] {
        require(length == longest,
                fmt::format("{} figures where another rank has {}", values.size(), static_cast<size_t>(longest)));
    });
}

std::unique_ptr<MetricReduction> make_metric_reduction(const Communicator& communicator, ReductionKind kind,
                                                       DeviceId device, bool own_device, double timeout_s) {
    if (kind != ReductionKind::mpi) {
        const auto obstacle = communicator.agree(find_nccl_obstacle(device, own_device));
        if (!obstacle) return make_nccl_reduction(communicator, device, timeout_s);
        if (kind == ReductionKind::nccl) throw UsageError("reduction: nccl is not possible\n" + *obstacle);
    }
    return std::make_unique<MpiReduction>(communicator);
}

}  // namespace pb::comm
