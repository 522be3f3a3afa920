// Runs several images in one pass, so that the windows of small images fill a batch together. The images keep their own
// memory, verification, output and errors; only the pass is common.
#include "base/mapped.hpp"
#include "plan/rows.hpp"
#include "run/agreement.hpp"
#include "run/point/point_options.hpp"
#include "run/point/runner_impl.hpp"
#include "run/point/settle.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

namespace {

// A group ends at these limits even if its last batch is not full.
constexpr size_t kMostImages = 64;
constexpr double kMostBytes = 32.0 * 1024 * 1024;  // of input and output

bool is_ok(const WaitingImage& image) {
    return image.trace.status == record::PointStatus::ok && image.user_error.empty();
}

int64_t num_windows(const WaitingImage& image) { return plan::tile_grid(image.trace.point).num_windows(); }

double bytes_of(const WaitingImage& image) {
    const RankShare& share = *image.prepared.share;
    const double samples = static_cast<double>(image.trace.point.source.extent.pixels() * share.channels());
    return 2 * samples * static_cast<double>(size_of(share.sample_type()));
}

/// Whether the pipeline converts each window by itself, so that the noise level may differ within a batch.
bool converts_windows(const plan::Point& point) { return point.device == DeviceKind::cpu; }

/// Ranks of several nodes do not share the memory of an image; a streamed output is too large for a group. Whether the
/// windows of a batch are independent is known of networks whose layers are known, not of others.
bool can_join(const WaitingImage& image) {
    const plan::Point& point = image.trace.point;
    return !image.team->spans_nodes && image.prepared.share->streamed() == nullptr && !plan::is_simulated(point) &&
           point.settings.network.has_layers() && point.settings.workload == config::Workload::tiles &&
           !plan::is_in_bands(point) && point.settings.schedule == config::Schedule::contiguous &&
           !point.settings.replicate;
}

bool have_one_conversion(const WaitingImage& a, const WaitingImage& b) {
    if (converts_windows(a.trace.point)) return true;
    const device::Conversion first = conversion_for(a.trace.point, *a.prepared.network);
    const device::Conversion second = conversion_for(b.trace.point, *b.prepared.network);
    return first.gain == second.gain && first.sigma == second.sigma;
}

/// Whether windows of both images can be in one batch. Settings that are not compared are those of the launch.
bool fit_together(const WaitingImage& a, const WaitingImage& b) {
    const RankShare &first = *a.prepared.share, &second = *b.prepared.share;
    return can_join(a) && can_join(b) && a.team == b.team && a.prepared.network == b.prepared.network &&
           a.trace.point.settings.engine == b.trace.point.settings.engine &&
           a.trace.point.winograd_tile == b.trace.point.winograd_tile && first.work().window == second.work().window &&
           first.channels() == second.channels() && first.sample_type() == second.sample_type() &&
           have_one_conversion(a, b);
}

/// Whether more images would gain nothing: all batches are full, or the group is at a limit.
bool is_complete(const std::vector<WaitingImage>& images) {
    const WaitingImage& first = images.front();
    if (!can_join(first) || images.size() >= kMostImages) return true;
    int64_t windows = 0;
    double bytes = 0;
    for (const WaitingImage& image : images) {
        windows += num_windows(image);
        bytes += bytes_of(image);
    }
    return bytes + bytes_of(first) > kMostBytes ||
           windows % (full_batch(first.trace.point) * first.team->ranks.size()) == 0;
}

/// Divides the times of a pass by the windows of an image.
void take_part_of(const record::PointTrace& pass, double part, record::PointTrace& trace) {
    const auto scale = [part](auto& seconds) {
        for (double& each : seconds) each *= part;
    };
    trace.wall_s = pass.wall_s;
    scale(trace.wall_s);
    trace.repeated_s = part * pass.repeated_s;
    trace.stop_reason = pass.stop_reason;
    trace.reduction = pass.reduction;
    trace.ranks = pass.ranks;
    for (record::RankTrace& rank : trace.ranks) {
        scale(rank.wall_s);
        scale(rank.cpu_s);
        for (auto& stages : rank.stage_s) scale(stages);
    }
    trace.point.batch = pass.point.batch;
    trace.point.notes.insert(trace.point.notes.end(), pass.point.notes.begin(), pass.point.notes.end());
}

/// The windows [first, first + count) of a pass, numbered as in their image.
std::vector<Range> runs_within(const std::vector<Range>& taken, int64_t first, int64_t count) {
    std::vector<Range> runs;
    for (const Range& run : taken)
        if (const Range part = windows_within(run, {first, first + count}); part.size() > 0) runs.push_back(part);
    return runs;
}

std::vector<JoinedShare> joined_shares_of(const std::vector<WaitingImage>& images) {
    return mapped(images, [](const WaitingImage& image) {
        return JoinedShare{image.prepared.share.get(), num_windows(image),
                           conversion_for(image.trace.point, *image.prepared.network)};
    });
}

/// The batch of a pass, at most the windows of the rank that has most.
int64_t batch_of(const std::vector<JoinedShare>& shares, const WaitingImage& first) {
    int64_t windows = 0;
    for (const JoinedShare& share : shares) windows += share.num_windows;
    return std::min(full_batch(first.trace.point), ceil_div(windows, first.team->ranks.size()));
}

/// Makes the page of the image the current one of its file. Collective.
void turn_to(const WaitingImage& image) {
    if (image.job.turn) together(image.team->ranks, image.job.turn);
}

}  // namespace

/// As try_step. Any error of a rank that works alone becomes that of its image, because no other rank waits for it.
std::string Runner::Impl::try_image_step(const Team& team, record::PointTrace& trace,
                                         const std::function<void()>& step) {
    return try_step(team, trace, [&] {
        try {
            step();
        } catch (const PointFailed&) {
            throw;
        } catch (const AgreedError&) {
            throw;
        } catch (const std::exception& error) {
            if (team.ranks.size() > 1) throw;
            throw PointFailed(record::PointStatus::failed, error.what());
        }
    });
}

void Runner::Impl::pass_alone(WaitingImage& image) {
    image.user_error = try_image_step(*image.team, image.trace, [&] {
        turn_to(image);
        begin(Activity::preparation);
        measure(*image.team, *image.prepared.share, image.prepared.network, image.trace);
    });
}

/// Returns false if the pass failed for a reason that may be that of one image, or of too large a batch.
bool Runner::Impl::pass_together(std::vector<WaitingImage>& images) {
    const WaitingImage& first = images.front();
    const std::vector<JoinedShare> shares = joined_shares_of(images);
    record::PointTrace pass;
    pass.point = first.trace.point;
    pass.point.notes.clear();
    pass.point.batch = batch_of(shares, first);
    RankShare joined(shares, *first.team, *pass.point.batch);
    const std::string user_error = try_image_step(*first.team, pass, [&] {
        begin(Activity::preparation);
        if (listener != nullptr) listener->join(std::ssize(images));
        measure(*first.team, joined, first.prepared.network, pass);
    });
    if (pass.status == record::PointStatus::interrupted) {
        for (WaitingImage& image : images) {
            image.trace.status = pass.status;
            image.trace.reason = pass.reason;
        }
        return true;
    }
    if (pass.status != record::PointStatus::ok || !user_error.empty()) return false;
    ++num_groups;
    int64_t begin = 0, all = 0;
    for (const JoinedShare& share : shares) all += share.num_windows;
    for (size_t i = 0; i < images.size(); ++i) {
        const int64_t count = shares[i].num_windows;
        images[i].prepared.share->set_windows_done(runs_within(joined.batches().taken(), begin, count));
        take_part_of(pass, static_cast<double>(count) / static_cast<double>(all), images[i].trace);
        images[i].images_in_pass = std::ssize(images);
        begin += count;
    }
    return true;
}

void Runner::Impl::pass_over(std::vector<WaitingImage>& images) {
    if (images.size() > 1 && pass_together(images)) return;
    for (WaitingImage& image : images) pass_alone(image);
}

/// The images of a group ask for their checks in turn, so that not always the same place of a batch is checked.
void Runner::Impl::conclude_all(std::vector<WaitingImage>& images) {
    std::vector<CheckDepth> depths(images.size());
    for (size_t i = 0; i < images.size(); ++i) {
        const size_t place = (i + static_cast<size_t>(num_groups > 0 ? num_groups - 1 : 0)) % images.size();
        if (is_ok(images[place])) depths[place] = decide_depth(images[place].trace, *images[place].prepared.network);
    }
    for (size_t i = 0; i < images.size(); ++i) {
        WaitingImage& image = images[i];
        if (is_ok(image))
            image.user_error = try_image_step(*image.team, image.trace, [&] {
                turn_to(image);
                conclude(*image.team, image.prepared, image.job.files, *image.job.source, image.trace, depths[i]);
            });
        else if (image.job.turn)
            (void)attempt(image.job.turn);  // its error names the current page
        if (image.team->ranks.size() > 1) begin(Activity::waiting);
        image.prepared.share.reset();
        image.job.done({image.trace, image.user_error, image.images_in_pass});
    }
}

void Runner::Impl::finish_waiting() {
    std::vector<WaitingImage> images = std::exchange(waiting, {});
    if (images.empty()) return;
    pass_over(images);
    conclude_all(images);
}

void Runner::add(ImageJob job) {
    WaitingImage image{.job = std::move(job)};
    image.trace.point = image.job.point;
    image.team = &impl_->teams.of(image.job.point);
    require(image.team->ranks.size() == impl_->teams.world().size(), "all ranks work on an image of a group");
    impl_->begin(Activity::reading);
    image.user_error = Impl::try_image_step(*image.team, image.trace, [&] {
        image.prepared = impl_->prepare(*image.team, image.job.files, *image.job.source, image.trace);
    });
    if (!is_ok(image)) {
        image.job.done({image.trace, image.user_error});
        return;
    }
    if (!impl_->waiting.empty() && !fit_together(impl_->waiting.front(), image)) impl_->finish_waiting();
    impl_->waiting.push_back(std::move(image));
    if (is_complete(impl_->waiting)) impl_->finish_waiting();
}

void Runner::finish_images() { impl_->finish_waiting(); }

void Runner::drop_images() { impl_->waiting.clear(); }

int64_t Runner::num_waiting() const { return std::ssize(impl_->waiting); }

}  // namespace pb::run
