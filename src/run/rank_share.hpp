// What one rank holds of a point's image: the node's slabs of input and output, and its own work on them.
#pragma once

#include "run/team.hpp"

#include "patchbench/run/batch_queue.hpp"
#include "patchbench/run/slab.hpp"

#include <memory>
#include <vector>

namespace pb {

class RankShare {
  public:
    /// Collective over the team: allocates the slabs (PointFailed with status oom on all ranks when a host has too
    /// little memory), reads the input and adds the noise. Every rank's times are in `read_s` and `noise_s`.
    RankShare(const Point& point, const Team& team, ImageSource& source);

    [[nodiscard]] const Work& work() const { return work_; }
    [[nodiscard]] const Slab& input() const { return input_.slab(); }
    /// This rank's output: the node's slab, or an image of its own for the copies of `replicate`.
    [[nodiscard]] const Slab& output() const { return own_output_.empty() ? output_.slab() : own_slab_; }

    /// This rank's batches of a pass, and afterwards those that it did.
    [[nodiscard]] BatchQueue& batches() { return *batches_; }
    /// Runs of windows that this rank wrote in the last pass, ascending.
    [[nodiscard]] std::vector<Range> windows_done() const { return joined_runs(batches_->taken()); }

    /// Marks the output as unwritten. Collective over the team.
    void poison_output(const Team& team) const;

    double read_s = 0;
    double noise_s = 0;

  private:
    Work work_;
    std::unique_ptr<BatchQueue> batches_;
    SharedSlab input_, output_;
    Image own_output_;
    Slab own_slab_;
};

/// Brings what the ranks of other nodes did in the last pass to the root's slab. Collective over the team; does nothing
/// on one node.
void exchange(const Point& point, const Team& team, const RankShare& share);

}  // namespace pb
