// One rank's part of a point: its work and the node's slabs of input and output, or, for a streamed output, a source of
// windows and a sink of cores.
#pragma once

#include "run/pipeline/batch_queue.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/output.hpp"
#include "run/pixels/slab.hpp"
#include "run/point/team.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace pb::run {

class RankShare;

/// An image of a group whose windows share batches.
struct JoinedShare {
    RankShare* share = nullptr;
    int64_t num_windows = 0;  // of all ranks
    device::Conversion conversion;
};

class RankShare {
  public:
    /// Collective over the team. Allocates the slabs (PointFailed with status oom on all ranks when a host has too
    /// little memory), reads the input and adds the noise. `read_s` and `noise_s` are this rank's times. For a streamed
    /// output it only creates the file. `source` must outlive it.
    RankShare(const plan::Point& point, const Team& team, ImageSource& source, const OutputPlan& plan = {});
    /// One pass over several images in memory, on one node. Their windows are shared out over the ranks as those of one
    /// image, and fill batches of `batch`. The images must outlive it. Not collective.
    RankShare(const std::vector<JoinedShare>& images, const Team& team, int64_t batch);

    [[nodiscard]] const Work& work() const { return work_; }
    [[nodiscard]] const Slab& input() const { return input_.slab(); }
    /// This rank's output: the slab of the node, or its own image for the copies of `replicate`.
    [[nodiscard]] const Slab& output() const { return own_output_.empty() ? output_.slab() : own_slab_; }

    /// Channels and type of the samples that are passed to the pipeline.
    [[nodiscard]] int64_t channels() const { return channels_; }
    [[nodiscard]] DType sample_type() const { return sample_type_; }

    /// Source of the windows and destination of the cores of a pass: the slabs, or streams.
    [[nodiscard]] WindowSource& windows() const { return *windows_; }
    [[nodiscard]] CoreSink& cores() const { return *cores_; }
    /// The streamed output, or null. When it is not null, input() and output() have no pixels.
    [[nodiscard]] StreamedSink* streamed() const { return streamed_; }

    /// The batches of this rank in a pass.
    [[nodiscard]] BatchQueue& batches() { return *batches_; }
    /// The runs of windows that this rank wrote in the last pass, ascending.
    [[nodiscard]] std::vector<Range> windows_done() const { return joined_runs(made_ ? *made_ : batches_->taken()); }
    /// Other batches than those of this share wrote these windows of it.
    void set_windows_done(std::vector<Range> windows) { made_ = std::move(windows); }

    /// Marks the output as unwritten. Collective over the team.
    void poison_output(const Team& team) const;

    double read_s = 0;
    double noise_s = 0;

  private:
    void allocate_in_memory(const plan::Point& point, const Team& team, ImageSource& source);
    void open_streamed(const plan::Point& point, const Team& team, ImageSource& source, const OutputPlan& plan);

    Work work_;
    int64_t channels_;
    DType sample_type_;
    std::unique_ptr<BatchQueue> batches_;
    std::optional<std::vector<Range>> made_;  // none: the batches tell it
    std::vector<RankShare*> joined_;
    SharedSlab input_, output_;
    image::Image own_output_;
    Slab own_slab_;
    std::unique_ptr<WindowSource> windows_;
    std::unique_ptr<CoreSink> cores_;
    StreamedSink* streamed_ = nullptr;  // equals cores_ for a streamed output
};

}  // namespace pb::run
