// What one rank holds of a point's image, and its own work on it: the node's slabs of input and output, or, where the
// output is streamed, nothing but ways to both.
#pragma once

#include "run/pipeline/batch_queue.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/output_plan.hpp"
#include "run/pixels/window_source.hpp"
#include "run/point/team.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb {

class RankShare {
  public:
    /// Collective over the team: allocates the slabs (PointFailed with status oom on all ranks when a host has too
    /// little memory), reads the input and adds the noise. Every rank's times are in `read_s` and `noise_s`. A streamed
    /// output takes none of these: its file is made. `source` must outlive it.
    RankShare(const Point& point, const Team& team, ImageSource& source, const OutputPlan& plan = {});

    [[nodiscard]] const Work& work() const { return work_; }
    [[nodiscard]] const Slab& input() const { return input_.slab(); }
    /// This rank's output: the node's slab, or an image of its own for the copies of `replicate`.
    [[nodiscard]] const Slab& output() const { return own_output_.empty() ? output_.slab() : own_slab_; }

    /// Of the samples that travel.
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] DType sample_type() const { return sample_type_; }

    /// Where passes take their windows from and bring their cores to: the slabs, or not.
    [[nodiscard]] WindowSource& windows() const { return *windows_; }
    [[nodiscard]] CoreSink& cores() const { return *cores_; }
    /// The output where it is streamed, else null; input() and output() are without pixels then.
    [[nodiscard]] StreamedSink* streamed() const { return streamed_; }

    /// This rank's batches of a pass, and afterwards those that it did.
    [[nodiscard]] BatchQueue& batches() { return *batches_; }
    /// Runs of windows that this rank wrote in the last pass, ascending.
    [[nodiscard]] std::vector<Range> windows_done() const { return joined_runs(batches_->taken()); }

    /// Marks the output as unwritten. Collective over the team.
    void poison_output(const Team& team) const;

    double read_s = 0;
    double noise_s = 0;

  private:
    void allocate_in_memory(const Point& point, const Team& team, ImageSource& source);
    void open_streamed(const Point& point, const Team& team, ImageSource& source, const OutputPlan& plan);

    Work work_;
    int64_t channels_;
    DType sample_type_;
    std::unique_ptr<BatchQueue> batches_;
    SharedSlab input_, output_;
    Image own_output_;
    Slab own_slab_;
    std::unique_ptr<WindowSource> windows_;
    std::unique_ptr<CoreSink> cores_;
    StreamedSink* streamed_ = nullptr;  // cores_, where it is one
};

/// Brings what the ranks of other nodes did in the last pass to the root's slab, and says how many bytes those
/// were that this rank sent or received. Collective over the team; nothing is done on one node.
std::optional<int64_t> exchange(const Point& point, const Team& team, const RankShare& share);

}  // namespace pb
