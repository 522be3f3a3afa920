#include "base/text.hpp"
#include "config/text.hpp"
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

namespace pb::report {

namespace {

constexpr double kPixelsPerMpx = 1e6;

std::string outcome_of(const measure::TuningTrial& trial, bool is_chosen, int64_t last_edge) {
    if (is_chosen) return std::string(kStar) + " taken";
    if (!trial.is_in()) return trial.dropped;
    return trial.edge < last_edge ? "not reached" : "slower";
}

std::string crop_text(int64_t edge, Extent image) {
    if (edge == 0) return "-";
    const Extent crop = measure::tuning_crop(image, edge);
    return fmt::format("{} x {}", crop.h, crop.w);
}

/// Without the sign of a loss that rounds to 0.
std::string loss_text(const std::optional<double>& loss_db) {
    const std::string text = fixed(loss_db, 3);
    return text == "-0.000" ? "0.000" : text;
}

std::vector<std::string> trial_row(const measure::TuningTrial& trial, Extent image, const std::string& outcome) {
    const config::PointSettings& settings = trial.candidate.settings;
    const auto mpx = static_cast<double>(image.pixels()) / kPixelsPerMpx;
    return {config::format_setting(settings.engine),
            std::string(name_of(settings.dtype)),
            std::to_string(settings.patch),
            config::format_setting(settings.halo),
            config::format_setting(settings.batch),
            config::format_setting(settings.ranks),
            crop_text(trial.edge, image),
            readable(trial.job_s),
            readable(trial.job_s ? std::optional(mpx / *trial.job_s) : std::nullopt),
            loss_text(trial.psnr_loss_db),
            readable_mib(trial.candidate.peak_mib > 0 ? std::optional(trial.candidate.peak_mib) : std::nullopt),
            readable_mib(trial.peak_mib),
            outcome};
}

}  // namespace

std::string tuning_table(const measure::TuningTrials& trials, std::optional<size_t> chosen, Extent image, bool verbose,
                         size_t width) {
    TextTable table;
    table.add_column("engine", TextTable::Align::left);
    table.add_columns({"dtype", "patch", "halo", "batch", "ranks", "crop", "image\ns", "useful\nMpx/s", "PSNR loss\ndB",
                       "image\nMiB", "crop\nMiB"});
    table.add_column("outcome", TextTable::Align::prose);
    std::vector<size_t> order(trials.size());
    std::iota(order.begin(), order.end(), size_t{0});
    constexpr double kUnknown = std::numeric_limits<double>::infinity();
    const auto rank = [&](size_t i) {
        return std::tuple(i != chosen, !trials[i].is_in(), -trials[i].edge, trials[i].job_s.value_or(kUnknown));
    };
    std::ranges::stable_sort(order, {}, rank);
    const auto is_unmeasured = [&](size_t i) { return trials[i].edge == 0; };
    const auto num_unmeasured = std::ranges::count_if(order, is_unmeasured);
    const bool folds = !verbose && num_unmeasured > 0 && num_unmeasured < std::ssize(order);
    if (folds) std::erase_if(order, is_unmeasured);
    int64_t last_edge = 0;
    for (const auto& trial : trials) last_edge = std::max(last_edge, trial.edge);
    for (const size_t i : order)
        table.add_row(trial_row(trials[i], image, outcome_of(trials[i], i == chosen, last_edge)));
    std::string text = table.text(width);
    if (folds) text += fmt::format("\nnot measured: {} (--verbose lists them)\n", counted(num_unmeasured, "candidate"));
    return text;
}

}  // namespace pb::report
