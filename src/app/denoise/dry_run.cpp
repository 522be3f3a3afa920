#include "app/denoise/dry_run.hpp"

#include "app/denoise/images.hpp"
#include "image/stack_file.hpp"
#include "plan/prediction.hpp"
#include "run/agreement.hpp"
#include "run/pixels/output.hpp"
#include "run/point/settle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace pb::app {

namespace {

/// The point with the smallest halo and batch that a search may find.
plan::Point with_least(plan::Point point) {
    if (!point.halo) plan::settle_halo(point, run::has_seams(point) ? point.facts().alignment : 0);
    if (!point.batch) plan::settle_batch(point, 1);
    return point;
}

}  // namespace

void PlannedNeeds::add(const plan::Point& point, int64_t times) {
    passes += times;
    const auto needs = plan::predict(with_least(point));
    if (!needs) {
        unknown += times;
        return;
    }
    constexpr double kTera = 1e12;
    if (!point.halo || !point.batch) bounded += times;
    tflop += static_cast<double>(times) * needs->flop / kTera;
    peak_mib = std::max(peak_mib, needs->peak_mib);
}

void PlannedNeeds::operator+=(const PlannedNeeds& other) {
    passes += other.passes;
    unknown += other.unknown;
    bounded += other.bounded;
    tflop += other.tflop;
    peak_mib = std::max(peak_mib, other.peak_mib);
}

std::string PlannedNeeds::memory_note(const plan::Point& point) const {
    const auto limit = static_cast<double>(point.settings.memory_limit_mib);
    const double most = limit > 0 ? limit : point.most_mib;
    if (most == 0 || peak_mib <= most) return "";
    return fmt::format("that is more than the {:.0f} MiB that a rank may take", std::floor(most));
}

std::string PlannedNeeds::text() const {
    if (unknown == passes) return "memory and arithmetic are not known, as the layers of the network";
    const char* const bound = unknown + bounded > 0 ? "at least " : "";
    std::string text = fmt::format("predicted: {}{:.4g} TFLOP", bound, tflop);
    if (peak_mib > 0) text += fmt::format(", peak {}{:.0f} MiB a rank", bound, std::ceil(peak_mib));
    return text;
}

/// With --dry-run: reads the weights of the pass, and throws where they are not there, or the output cannot be what was
/// asked for. Returns a note on the memory of the root's host. Collective.
std::string Denoise::require_parts(const Image& image, Pass& pass, bool is_joined) {
    run::PointFiles files{.image = image.job.output};
    if (is_joined) files.take = [](const PixelView& /*denoised*/) {};
    std::string note;
    run::together(group_.ranks, [&] {
        runner_.settle_weights(pass.point);
        if (!group_.ranks.is_root()) return;
        note = run::host_memory_note(pass.point, *pass.source, files);
        if (settings_.output != config::OutputKind::file) return;
        if (const std::string why = run::file_obstacle(pass.point, *pass.source, files); !why.empty())
            throw UsageError("output = file: " + why);
    });
    return note;
}

/// With --dry-run: plans the passes and reports what they need. Of a stack it plans the first page.
void Denoise::say_plan(const Image& image, const run::OpenFiles& files, const std::vector<std::string>& groups) {
    const int64_t num_pages = files.image->num_pages();
    run::together(group_.ranks, [&] {
        if (num_pages > 1) image::check_can_hold_pages(image.job.output);
    });
    ImagePasses passes;
    std::vector<ImageLine> lines;
    for (const std::string& bands : groups.empty() ? std::vector<std::string>{""} : groups) {
        std::string range = settings_.image.range;
        if (num_pages > 1) {
            range = find_range(files, bands);
            run::together(group_.ranks, [&] { files.turn_to(0); });
        }
        Pass pass = plan_pass(image.job, files, bands, range);
        const std::string host_note = require_parts(image, pass, num_pages > 1 || !groups.empty());
        PlannedNeeds needs;
        needs.add(pass.point, num_pages);
        LineNotes notes = notes_on(pass.point, pass.range);
        notes.notes.push_back({needs.memory_note(pass.point)});
        notes.notes.push_back({host_note});
        lines.push_back(planned_line(image.job, pass.point, needs, notes));
        lines.back().pages = num_pages;
        passes.planned += needs;
    }
    report_(image.index, std::move(lines), passes);
}

}  // namespace pb::app
