#include "report/results_figures.hpp"

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "config/call_times.hpp"
#include "config/text.hpp"
#include "measure/trace_figures.hpp"
#include "plan/rows.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <vector>

namespace pb::report {

measure::StudySummary summarise_results(const ResultsFile& results) {
    return measure::summarise_study(results.study_points(), results.environment().topology);
}

measure::StudySummary summarise_recorded(const ResultsFile& results) {
    measure::StudySummary study = summarise_results(results);
    if (!results.end) study.recommendations.clear();
    return study;
}

namespace {

/// Returns the halo in pixels that the settings name, an exact one as the network of `point` has it; none where none
/// does.
std::optional<int64_t> halo_of(const config::PointSettings& settings, const plan::Point& point) {
    using Kind = config::HaloSetting::Kind;
    if (settings.halo.kind == Kind::pixels) return settings.halo.pixels;
    return settings.halo.kind == Kind::exact ? std::optional(point.facts().exact_halo) : std::nullopt;
}

/// Returns the extent of the largest window, which is smaller than patch and halo only where the image is.
Extent window_extent(const Extent& image, int64_t patch, int64_t halo) {
    return {std::min(image.h, patch + 2 * halo), std::min(image.w, patch + 2 * halo)};
}

/// Returns the extent of the image that the settings name; endless where a file or the number of ranks decides.
Extent image_extent(const config::ImageSettings& image) {
    constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();
    if (!image.path.empty()) return {kEndless, kEndless};
    return {image.height_per_rank > 0 ? kEndless : image.height, image.width};
}

bool is_same_work(const plan::Point& point, const config::PointSettings& simulated) {
    const auto& settings = point.settings;
    const int64_t patch = settings.patch, halo = point.halo.value_or(0);
    return settings.network == simulated.network && settings.dtype == simulated.dtype && patch == simulated.patch &&
           point.halo == halo_of(simulated, point) && !plan::is_in_bands(point) &&
           window_extent(point.source.extent, patch, halo) == window_extent(image_extent(simulated.image), patch, halo);
}

/// The engine, device and settings that decide how long a forward call takes. A table has the times of one.
std::string runner_of(const plan::Point& point) {
    const config::PointSettings& settings = point.settings;
    return fmt::format("{} on {}, {}, {}, weights {}", config::format_setting(settings.engine), name_of(point.device),
                       config::format_setting(settings.layout), counted(point.threads, "thread"), settings.weights);
}

/// Returns the median of the slowest rank, of cropped windows for the mean call of a full batch; nothing where no call
/// was timed.
std::optional<double> call_seconds(const record::PointTrace& trace) {
    const record::RankTrace* rank = measure::slowest_rank(trace);
    if (rank == nullptr) return std::nullopt;
    const auto batch = static_cast<double>(trace.point.batch.value());
    return median(rank->forward_call_s) * measure::calls_per_window(trace, *rank) * batch;
}

bool has_calls(const RecordedPoint& point) {
    return point.summary.status == record::PointStatus::ok && !point.summary.simulated &&
           point.summary.verification != record::Verification::Outcome::failed && point.trace.point.batch &&
           point.trace.point.settings.workload == config::Workload::tiles && call_seconds(point.trace);
}

std::string list_labels(const ResultsFile& results) {
    std::set<std::string> labels;
    for (const auto& point : results.points)
        if (has_calls(point)) labels.insert(point.summary.label);
    if (labels.empty()) return "no measured points with timed calls (forward_calls says how many are timed)";
    return fmt::format("{}", fmt::join(labels, ", "));
}

}  // namespace

std::string measured_call_table(const ResultsFile& results, const config::PointSettings& simulated) {
    std::vector<config::CallTime> times;
    std::string runner;
    for (const auto& recorded : results.points) {
        const plan::Point& point = recorded.trace.point;
        if (!has_calls(recorded) || !is_same_work(point, simulated)) continue;
        if (runner.empty()) runner = runner_of(point);
        if (runner_of(point) != runner)
            throw UsageError(
                fmt::format("timed.results = {}: it has calls of {} and of {}, whose times are not comparable; give "
                            "results of one of them",
                            results.file.string(), runner, runner_of(point)));
        const auto seconds = call_seconds(recorded.trace);
        const bool is_known = std::ranges::find(times, *point.batch, &config::CallTime::batch) != times.end();
        if (seconds && !is_known) times.push_back({*point.batch, *seconds});
    }
    if (times.empty())
        throw UsageError(fmt::format(
            "timed.results = {}: no forward calls of {} with patch {}, the same halo and extent of the windows and "
            "{}; it holds {}",
            results.file.string(), simulated.network.name(), simulated.patch, name_of(simulated.dtype),
            list_labels(results)));
    return config::call_table(std::move(times));
}

}  // namespace pb::report
