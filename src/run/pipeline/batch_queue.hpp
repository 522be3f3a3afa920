// The batches of one rank in a pass: its own batches in order, or batches from a counter that all ranks share.
#pragma once

#include "comm/shared/shared_counter.hpp"
#include "run/progress.hpp"

#include "patchbench/base/shape.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::run {

class BatchQueue {
  public:
    /// A queue of this rank's own batches.
    explicit BatchQueue(std::vector<Range> batches);
    /// A queue of the batches of all `ranks`. With `ask_early` a rank requests the next number while the batch before
    /// it runs. This is needed where the counter answers slowly. Its cost: when the work runs out, a slow rank already
    /// holds one more batch. Throws AgreedError where ranks of a host cannot share a counter. Collective.
    BatchQueue(std::vector<Range> batches, const comm::Communicator& ranks, bool ask_early);

    /// Tells `listener`, which must outlive the queue, when a pass begins and how many batches are given out.
    void report_to(ProgressListener* listener) { listener_ = listener; }

    /// Tells the listener that `done` of `all` equal steps are done, for a pass that goes by layers rather than by
    /// batches. These are then not counted.
    void report_step(int64_t done, int64_t all);

    /// Starts a pass. With a shared counter, collective over its ranks.
    void begin_pass();
    /// Returns the next batch, or nothing at the end of the pass.
    [[nodiscard]] std::optional<Range> next();
    /// The batches that this rank has taken in the current pass, or in the last pass after its end.
    [[nodiscard]] const std::vector<Range>& taken() const { return taken_; }

  private:
    [[nodiscard]] size_t next_index();

    std::vector<Range> batches_, taken_;
    std::unique_ptr<comm::SharedCounter> counter_;  // null: own batches
    bool ask_early_ = false;
    ProgressListener* listener_ = nullptr;
    bool reports_steps_ = false;  // in the current pass
};

/// Joins adjacent runs. The result is ascending.
[[nodiscard]] std::vector<Range> joined_runs(std::vector<Range> runs);

}  // namespace pb::run
