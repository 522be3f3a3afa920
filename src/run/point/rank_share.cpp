#include "run/point/rank_share.hpp"

#include "base/mapped.hpp"
#include "base/stopwatch.hpp"
#include "comm/shared/node_memory.hpp"
#include "run/agreement.hpp"
#include "run/verify/probes.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace pb::run {

namespace {

// Windows and cores of several images in one pass: image i lies `stride` rows below image i - 1 (join_work).

Rect moved_up(Rect part, int64_t rows) {
    part.row -= rows;
    return part;
}

/// The border of the image moves too, because what lies beyond it is a repetition of its last row.
Slab moved_down(Slab slab, int64_t rows) {
    slab.row += rows;
    slab.image.h += rows;
    return slab;
}

/// The images must outlive it.
class JoinedWindows final : public WindowSource {
  public:
    JoinedWindows(std::vector<WindowSource*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Slab read(const Rect& window) override {
        const int64_t image = window.row / stride_;
        const int64_t rows = image * stride_;
        return moved_down(images_[static_cast<size_t>(image)]->read(moved_up(window, rows)), rows);
    }
    [[nodiscard]] bool is_in_memory() const override {
        return std::ranges::all_of(images_, &WindowSource::is_in_memory);
    }

  private:
    std::vector<WindowSource*> images_;
    int64_t stride_;
};

/// Passes each core on to its image. The images must outlive it; they are also what is read back afterwards.
class JoinedCores final : public CoreSink {
  public:
    JoinedCores(std::vector<CoreSink*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Extent extent() const override {
        return {std::ssize(images_) * stride_, images_.front()->extent().w};
    }
    [[nodiscard]] DType dtype() const override { return images_.front()->dtype(); }
    [[nodiscard]] Slab map(const Rect& core) override {
        return moved_down(image_of(core).map(inside(core)), core.row / stride_ * stride_);
    }
    void count_lost(const Rect& core, int64_t values) override { image_of(core).count_lost(inside(core), values); }
    void commit(const Rect& core) override { image_of(core).commit(inside(core)); }
    [[nodiscard]] bool is_in_memory() const override { return std::ranges::all_of(images_, &CoreSink::is_in_memory); }
    [[nodiscard]] image::Image read(const Rect& part) override { return image_of(part).read(inside(part)); }

  private:
    [[nodiscard]] CoreSink& image_of(const Rect& part) const {
        return *images_[static_cast<size_t>(part.row / stride_)];
    }
    [[nodiscard]] Rect inside(const Rect& part) const { return moved_up(part, part.row / stride_ * stride_); }

    std::vector<CoreSink*> images_;
    int64_t stride_;
};

Range hull(const Range& a, const Range& b) {
    if (a.size() == 0) return b;
    if (b.size() == 0) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

Range window_rows_on_node(const plan::Point& point, const Team& team) {
    Range rows;
    for (const int rank : team.ranks_on_node) rows = hull(rows, make_work(point, rank).window_rows);
    return rows;
}

/// The rows of the output on this node: all rows on the root's node, elsewhere the rows that the node writes.
Range core_rows_on_node(const plan::Point& point, const Team& team) {
    if (team.ranks_on_node.front() == 0) return {0, point.source.extent.h};
    Range rows;
    for (const int rank : team.ranks_on_node)
        for (const Rect& rect : rects_of_windows(point, {make_work(point, rank).windows}))
            rows = hull(rows, {rect.row, rect.row + rect.extent.h});
    return rows;
}

/// Collective. Without support for a shared counter, all ranks throw the same error.
std::unique_ptr<BatchQueue> make_batches(const plan::Point& point, const Team& team, const Work& work) {
    if (point.settings.schedule == config::Schedule::contiguous) return std::make_unique<BatchQueue>(work.batches());
    try {
        return std::make_unique<BatchQueue>(work.batches(), team.ranks, team.spans_nodes);
    } catch (const AgreedError& error) {
        throw PointFailed(record::PointStatus::refused, std::string("schedule = dynamic: ") + error.what());
    } catch (const Error& error) {
        throw PointFailed(
            record::PointStatus::refused,
            std::string("schedule = dynamic: this MPI has no one-sided operations between these nodes (") +
                error.what() + "); choose schedule: contiguous");
    }
}

/// Makes a sink that remembers some of this rank's windows, so that a network's output can be verified.
std::unique_ptr<ChecksumSink> make_checksum_sink(const plan::Point& point, const Work& work, ImageSource& source) {
    auto output = std::make_unique<ChecksumSink>(source);
    if (plan::is_simulated(point) || point.settings.protocol.verify == config::VerifyMode::off) return output;
    const int64_t probes = point.settings.protocol.verify_probes;
    if (point.settings.schedule == config::Schedule::dynamic) {  // which windows a rank makes is not known before
        output->remember_some(probes);
        return output;
    }
    const auto indices = pick(work.windows, probes, kProbeSeed);
    output->remember(mapped(indices, [&](int64_t index) { return work.tile(index).core; }));
    return output;
}

/// No window of an image reaches so many rows.
int64_t stride_of(const std::vector<JoinedShare>& images) {
    int64_t rows = 0;
    for (const JoinedShare& image : images)
        rows = std::max(rows, image.share->cores().extent().h + image.share->work().window.h);
    return rows;
}

Work join_shares(const std::vector<JoinedShare>& images, const Team& team, int64_t batch) {
    std::vector<ImageWork> works;
    works.reserve(images.size());
    int64_t num_windows = 0;
    for (const JoinedShare& image : images) {
        works.push_back({image.share->work(), image.num_windows, image.conversion});
        num_windows += image.num_windows;
    }
    return join_work(std::move(works), stride_of(images), batch,
                     shard(num_windows, team.ranks.rank(), team.ranks.size()));
}

}  // namespace

RankShare::RankShare(const std::vector<JoinedShare>& images, const Team& team, int64_t batch)
    : work_(join_shares(images, team, batch)),
      channels_(images.front().share->channels()),
      sample_type_(images.front().share->sample_type()),
      batches_(std::make_unique<BatchQueue>(work_.batches())) {
    std::vector<WindowSource*> windows;
    std::vector<CoreSink*> cores;
    for (const JoinedShare& image : images) {
        joined_.push_back(image.share);
        windows.push_back(&image.share->windows());
        cores.push_back(&image.share->cores());
    }
    const int64_t stride = stride_of(images);
    windows_ = std::make_unique<JoinedWindows>(std::move(windows), stride);
    cores_ = std::make_unique<JoinedCores>(std::move(cores), stride);
}

RankShare::RankShare(const plan::Point& point, const Team& team, ImageSource& source, const OutputPlan& plan)
    : work_(make_work(point, team.ranks.rank())), channels_(source.channels()), sample_type_(source.dtype()) {
    if (plan.is_streamed())
        open_streamed(point, team, source, plan);
    else
        allocate_in_memory(point, team, source);
    batches_ = make_batches(point, team, work_);  // last: all ranks end it together, which they cannot during an error
}

void RankShare::open_streamed(const plan::Point& point, const Team& team, ImageSource& source, const OutputPlan& plan) {
    std::unique_ptr<StreamedSink> output;
    if (plan.kind == config::OutputKind::file)
        output = make_file_sink(team, source, plan);
    else
        output = make_checksum_sink(point, work_, source);
    streamed_ = output.get();
    cores_ = with_faults(std::move(output), source);
    windows_ = std::make_unique<StreamedWindows>(source);
}

void RankShare::allocate_in_memory(const plan::Point& point, const Team& team, ImageSource& source) {
    const Extent extent = point.source.extent;
    together(team.ranks, [&] {  // both must fit before pages of one are taken
        const int64_t rows = window_rows_on_node(point, team).size() + core_rows_on_node(point, team).size();
        const auto samples = static_cast<size_t>(rows * extent.w * source.channels());
        if (team.node.is_root()) comm::require_host_memory(samples * size_of(source.dtype()));
    });
    together(team.ranks, [&] {  // NodeMemory fails on all ranks of a node together
        input_ = SharedSlab(team.node, extent, window_rows_on_node(point, team), source.channels(), source.dtype());
    });
    together(team.ranks, [&] {
        output_ = SharedSlab(team.node, extent, core_rows_on_node(point, team), source.channels(), source.dtype());
        if (point.settings.replicate && team.ranks.rank() > 0) {
            own_output_ = image::Image(extent, source.channels(), source.dtype());
            own_slab_ = {own_output_.view(), extent};
        }
    });
    Stopwatch watch;
    together(team.ranks, [&] { read_into(input(), source, team.node.rank(), team.node.size()); });
    read_s = watch.lap();
    together(team.ranks, [&] { add_noise_into(input(), source, team.node.rank(), team.node.size()); });
    noise_s = watch.lap();
    windows_ = std::make_unique<MemoryWindows>(input());
    cores_ = with_faults(std::make_unique<MemorySink>(output(), &source), source);
}

void RankShare::poison_output(const Team& team) const {
    for (const RankShare* share : joined_) share->poison_output(team);
    if (!joined_.empty()) return;
    cores_->forget_lost();
    if (!own_output_.empty()) poison(own_slab_, 0, 1);
    if (streamed_ != nullptr)
        streamed_->start_pass();
    else
        poison(output_.slab(), team.node.rank(), team.node.size());
    team.ranks.barrier();
}

}  // namespace pb::run
