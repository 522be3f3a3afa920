// Collects figures of all ranks, through NCCL when every rank has a GPU of its own, through MPI otherwise. Both give
// the same numbers.
#pragma once

#include "comm/collective_step.hpp"

#include "patchbench/base/choices.hpp"
#include "patchbench/base/device_id.hpp"

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace pb::comm {

class MetricReduction {
  public:
    virtual ~MetricReduction() = default;
    /// "NCCL" or "MPI": the report says which.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Collective, like all calls here: an error on one rank is an Error on all. Returns one row per rank in rank
    /// order, on all ranks. `values` must have the same length on every rank.
    [[nodiscard]] virtual std::vector<std::vector<double>> all_gather(std::span<const double> values) = 0;
    /// Largest value over ranks for each element, on all ranks. Throws Error on NaN, for which backends would differ.
    [[nodiscard]] virtual std::vector<double> max(std::span<const double> values) = 0;
};

// What both reductions require of their input.

/// Throws Error when there is a NaN. Not collective.
void require_no_nan(std::span<const double> values);

/// Collective: Error on all ranks unless all have equally many values.
void require_equal_lengths(const Communicator& communicator, std::span<const double> values);

/// Collective. `device` is this rank's; `own_device` says that no other rank shares it. `automatic` takes NCCL when all
/// ranks have a CUDA device of their own; when its bring-up then fails, that is an Error, not a change to MPI. Throws
/// UsageError (on all ranks) when `nccl` is asked for and not possible. Bring-up and each NCCL call are bounded by
/// `timeout_s`: some time after it RanksMissing is thrown, and main must end the job (MpiSession::abort). The result
/// does not refer to `communicator`; destroying it is collective.
[[nodiscard]] std::unique_ptr<MetricReduction> make_metric_reduction(const Communicator& communicator,
                                                                     ReductionKind kind, DeviceId device,
                                                                     bool own_device, double timeout_s);

/// Header and loaded version of NCCL ("2.28.9"); "absent" in a build without it.
[[nodiscard]] std::string nccl_header_version();
[[nodiscard]] std::string nccl_loaded_version();

}  // namespace pb::comm
