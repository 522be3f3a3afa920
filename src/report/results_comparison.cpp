#include "report/results_comparison.hpp"

#include "base/mapped.hpp"
#include "base/text.hpp"
#include "report/comparison_doubts.hpp"
#include "report/differences.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace pb::report {

namespace {

/// What a point measures, and its number among the points of its file that measure the same.
using Identity = std::pair<std::string, int>;

std::string state_of(const RecordedPoint& point) {
    if (point.summary.status != record::PointStatus::ok) return std::string(name_of(point.summary.status));
    if (point.summary.verification == record::Verification::Outcome::failed) return "the output is wrong";
    return "no times";
}

class Matches {
  public:
    explicit Matches(PointIdentities identities) : identities_(std::move(identities)) {}

    void add(const ResultsFile& file, Side Match::*side) {
        const auto labels = unique_labels(file.summaries());
        std::map<std::string, int> seen;
        for (size_t i = 0; i < file.points.size(); ++i) {
            const std::string same = identities_.of(file.points[i].trace.point);
            const Identity identity{same, seen[same]++};
            const auto [place, is_new] = places_.try_emplace(identity, all_.size());
            if (is_new) all_.push_back({labels[i]});
            (all_[place->second].*side).launches.push_back(&file.points[i]);
        }
    }

    [[nodiscard]] const std::vector<Match>& all() const { return all_; }

  private:
    PointIdentities identities_;
    std::map<Identity, size_t> places_;
    std::vector<Match> all_;
};

std::vector<measure::Launch> times_of(const Side& side) {
    std::vector<measure::Launch> launches;
    for (const auto* point : side.launches)
        if (has_figures(*point)) launches.push_back(point->trace.wall_s);
    return launches;
}

std::optional<double> typical_of(const std::vector<measure::Launch>& launches) {
    return launches.empty() ? std::nullopt : std::optional(measure::typical_time(launches));
}

/// Returns how the point was measured, and the checksums of its weights and image.
SettingTexts protocol_of(const RecordedPoint& point) {
    SettingTexts texts = protocol_texts(point.trace.point);
    texts.emplace_back("weights", point.trace.weights_sha256);
    texts.emplace_back("image", point.trace.image_sha256);
    return texts;
}

std::string size_text(const RecordedPoint& point) {
    const plan::SourceFacts& source = point.trace.point.source;
    return fmt::format("{} x {} x {}", source.extent.h, source.extent.w, source.channels);
}

/// Says which settings of `there` differ from `here`: "ranks = 2, not 1"; and its image, where that was replaced.
std::string other_work(const RecordedPoint& here, const RecordedPoint& there) {
    std::vector<std::string> all;
    if (size_text(here) != size_text(there))
        all.push_back(fmt::format("the image has {}, not {}", size_text(there), size_text(here)));
    for (const auto& [key, mine, its, decisive] : work_differences(here.trace.point, there.trace.point))
        all.push_back(fmt::format("{} = {}, not {}", key, its, mine));
    return fmt::format("{}", fmt::join(all, "; "));
}

/// Says that `side` lacks the point of `match`. If `side` alone has a point with the same label, names its settings
/// that differ.
std::string why_not_in(Side Match::*side, Side Match::*other, const Match& match, const std::vector<Match>& all) {
    const auto is_like_it = [&](const Match& candidate) {
        return candidate.label == match.label && !(candidate.*side).launches.empty() &&
               (candidate.*other).launches.empty();
    };
    const auto found = std::ranges::find_if(all, is_like_it);
    std::string text = fmt::format("not in {}", (match.*side).name);
    if (found == all.end() || (match.*other).launches.empty()) return text;
    const std::string how = other_work(*(match.*other).launches.front(), *((*found).*side).launches.front());
    return how.empty() ? text : fmt::format("{}, where {}", text, how);
}

std::string why_missing(Side Match::*side, Side Match::*other, const Match& match, const std::vector<Match>& all) {
    const Side& here = match.*side;
    if (here.launches.empty()) return why_not_in(side, other, match, all);
    return fmt::format("{}: {}", here.name, state_of(*here.launches.front()));
}

/// Whether the point was tried and gave no figures, unlike one that a signal or an earlier failure left out.
bool is_broken(const RecordedPoint& point) {
    return !has_figures(point) && !record::is_cut_short(point.summary.status);
}

/// Counts launches for which `is_left_out`, by what is wrong with them.
std::vector<std::string> left_out(const Side& side, bool is_left_out(const RecordedPoint&)) {
    std::map<std::string, int> counts;
    for (const auto* point : side.launches)
        if (is_left_out(*point)) ++counts[state_of(*point)];
    return mapped(counts, [&](const auto& item) {
        const auto& [state, count] = item;
        return count == 1 ? fmt::format("a launch of {} is left out: {}", side.name, state)
                          : fmt::format("{} launches of {} are left out: {}", count, side.name, state);
    });
}

/// Says why launches of this side have no figures, if others of its `num_launches` have them.
void add_left_out(const Side& side, size_t num_launches, std::vector<std::string>& remarks) {
    if (times_of(side).empty()) return;
    for (auto& reason : left_out(side, [](const RecordedPoint& point) { return !has_figures(point); }))
        remarks.push_back(std::move(reason));
    if (side.launches.size() < num_launches)
        remarks.push_back(fmt::format("{} of {} launches of {} have no such point", num_launches - side.launches.size(),
                                      num_launches, side.name));
}

/// Describes the launches of NEW that broke, if no launch of OLD did.
std::string newly_broken(const Match& match) {
    if (!left_out(match.before, is_broken).empty()) return "";
    return fmt::format("{}", fmt::join(left_out(match.after, is_broken), "; "));
}

void add_once(std::string text, std::vector<std::string>& texts) {
    if (std::ranges::count(texts, text) == 0) texts.push_back(std::move(text));
}

/// What differs between two launches beside the work.
void add_protocol_remarks(const RecordedPoint& before, const RecordedPoint& after, std::vector<std::string>& remarks) {
    for (const auto& [key, was, is, decisive] : differences(protocol_of(before), protocol_of(after)))
        add_once(fmt::format("{} differs: {:.12} -> {:.12}", key, was, is), remarks);
    const auto compare = [&](const char* what, const std::string& was, const std::string& is) {
        if (!was.empty() && !is.empty() && was != is)  // older files do not say it
            add_once(fmt::format("{} differs: {:.12} -> {:.12}", what, was, is), remarks);
    };
    compare("file of the engine", before.trace.engine_sha256, after.trace.engine_sha256);
    compare("tensors of the network", before.trace.network_sha256, after.trace.network_sha256);
    const std::string old_card = before.trace.point.settings.network.card_text();
    const std::string new_card = after.trace.point.settings.network.card_text();
    if (old_card != new_card)
        add_once(fmt::format("card of the network differs: {} -> {}", old_card, new_card), remarks);
    const std::string old_halo = plan::halo_text(before.trace.point), new_halo = plan::halo_text(after.trace.point);
    if (old_halo != new_halo)  // where it is found, as by halo: auto
        add_once(fmt::format("halo differs: {} -> {}", old_halo, new_halo), remarks);
}

PointComparison compare_point(const Match& match, const ResultsComparison& results, const std::vector<Match>& all) {
    PointComparison point;
    point.label = match.label;
    const auto before = times_of(match.before), after = times_of(match.after);
    point.old_s = typical_of(before);
    point.new_s = typical_of(after);
    if (before.empty()) point.missing = why_missing(&Match::before, &Match::after, match, all);
    if (after.empty()) add_item(point.missing, why_missing(&Match::after, &Match::before, match, all));
    if (!before.empty()) point.lost = after.empty() ? point.missing : newly_broken(match);
    point.lacks_old_figures = before.empty() && !match.before.launches.empty() && !after.empty();
    if (point.missing.empty()) point.comparison = measure::compare_times(before, after);
    add_left_out(match.before, results.num_old, point.remarks);
    add_left_out(match.after, results.num_new, point.remarks);
    add_doubts(match, point);
    if (!match.before.launches.empty() && !match.after.launches.empty())
        for (const Side* side : {&match.before, &match.after})
            for (const RecordedPoint* launch : side->launches)
                add_protocol_remarks(*match.before.launches.front(), *launch, point.remarks);
    return point;
}

void add_environment(const record::Environment& reference, const ResultsFile& file, std::vector<std::string>& changes) {
    for (const auto& session : file.sessions)
        for (const auto& difference : environment_differences(reference, session.environment)) {
            add_once(difference.text() + (difference.decisive ? "" : " (may not matter)"), changes);
        }
}

/// Returns whether all points of a side are simulated (true) or all measured (false); nothing for a mixture.
std::optional<bool> is_simulated_side(const std::vector<ResultsFile>& files) {
    std::optional<bool> simulated;
    for (const auto& file : files)
        for (const auto& point : file.points) {
            if (simulated.value_or(point.summary.simulated) != point.summary.simulated) return std::nullopt;
            simulated = point.summary.simulated;
        }
    return simulated;
}

/// Simulated and measured points never match. Throws UsageError when one side is all simulated and the other all
/// measured.
void check_simulated(const std::vector<ResultsFile>& old_files, const std::vector<ResultsFile>& new_files) {
    const auto before = is_simulated_side(old_files), after = is_simulated_side(new_files);
    if (!before || !after || *before == *after) return;
    throw UsageError(fmt::format("{} is simulated (engine timed) and {} was measured: they do not compare",
                                 *before ? "OLD" : "NEW", *before ? "NEW" : "OLD"));
}

/// When the launches of a side were started.
std::pair<std::string, std::string> first_and_last(const std::vector<ResultsFile>& files) {
    const auto times = mapped(files, [](const ResultsFile& file) { return file.environment().started_at; });
    const auto [first, last] = std::ranges::minmax(times);
    return {first, last};
}

/// Whether the launches of one side were all made before those of the other. A launch a side cannot be otherwise.
bool are_one_after_the_other(const std::vector<ResultsFile>& old_files, const std::vector<ResultsFile>& new_files) {
    if (std::min(old_files.size(), new_files.size()) < 2 || is_simulated_side(old_files).value_or(false)) return false;
    const auto [old_first, old_last] = first_and_last(old_files);
    const auto [new_first, new_last] = first_and_last(new_files);
    return old_last < new_first || new_last < old_first;
}

}  // namespace

int64_t ResultsComparison::count(measure::Change change) const {
    return std::ranges::count_if(
        points, [&](const auto& point) { return point.comparison && point.comparison->change == change; });
}

ResultsComparison compare_results(const std::vector<ResultsFile>& old_files,
                                  const std::vector<ResultsFile>& new_files) {
    if (old_files.empty() || new_files.empty()) throw UsageError("compare needs a file of OLD and one of NEW");
    check_simulated(old_files, new_files);
    ResultsComparison comparison;
    comparison.num_old = old_files.size();
    comparison.num_new = new_files.size();
    PointIdentities identities;
    for (const auto* files : {&old_files, &new_files})
        for (const auto& file : *files) identities.add(file);
    Matches matches(std::move(identities));
    const auto add = [&](const std::vector<ResultsFile>& files, Side Match::*side) {
        for (const auto& file : files) {
            matches.add(file, side);
            add_environment(old_files.front().environment(), file, comparison.environment_changes);
            for (const auto& remark : file.remarks()) comparison.remarks.push_back(remark);
        }
    };
    add(old_files, &Match::before);
    add(new_files, &Match::after);
    for (const auto& match : matches.all())
        comparison.points.push_back(compare_point(match, comparison, matches.all()));
    const int64_t differences = comparison.count(measure::Change::faster) + comparison.count(measure::Change::slower);
    if (differences > 0 && are_one_after_the_other(old_files, new_files))
        comparison.remarks.emplace_back(
            "not measured in turns: all launches of one side began before those of the other, and what the machine did "
            "meanwhile looks like a difference; start OLD and NEW in turns");
    return comparison;
}

}  // namespace pb::report
