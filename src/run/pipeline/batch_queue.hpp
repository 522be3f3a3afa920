// The batches of one rank's passes: its own ones in order, or those that it takes from all ranks' shared counter.
#pragma once

#include "comm/shared_counter.hpp"

#include "patchbench/base/shard.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb {

class BatchQueue {
  public:
    /// This rank's own batches.
    explicit BatchQueue(std::vector<Range> batches);
    /// Batches of all `ranks`. `ask_early`: a number is asked for while the batch before it runs; needed where the
    /// counter answers late, at the price that a slow rank is bound to one batch more when the others run out of work.
    BatchQueue(std::vector<Range> batches, const Communicator& ranks, bool ask_early);

    /// Collective over the ranks of a shared counter.
    void begin_pass();
    /// The next batch of the pass; none when it is over.
    [[nodiscard]] std::optional<Range> next();
    /// The batches of the current pass so far; after it: what this rank did.
    [[nodiscard]] const std::vector<Range>& taken() const { return taken_; }

  private:
    [[nodiscard]] size_t next_index();

    std::vector<Range> batches_, taken_;
    std::unique_ptr<SharedCounter> counter_;  // none: own batches
    bool ask_early_ = false;
};

/// Neighbouring runs joined, ascending.
[[nodiscard]] std::vector<Range> joined_runs(std::vector<Range> runs);

}  // namespace pb
