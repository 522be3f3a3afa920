#include "app/study/study_record.hpp"

#include "app/terminal.hpp"
#include "base/atomic_file.hpp"
#include "base/mapped.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "config/text.hpp"
#include "measure/summary.hpp"
#include "report/differences.hpp"
#include "report/html/page.hpp"
#include "report/results_figures.hpp"
#include "report/resume.hpp"
#include "report/tables/tables.hpp"
#include "run/agreement.hpp"
#include "run/weights_source.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <map>
#include <numeric>
#include <span>
#include <utility>

namespace pb::app {

Descriptor lock_folder(const std::filesystem::path& folder) {
    Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (opened.number() < 0) require_descriptors(folder);
    if (opened.number() < 0 || ::flock(opened.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return opened;
    throw UsageError("another run is writing into " + folder.string() +
                     ": wait for its end, or choose another folder with --out");
}

namespace fs = std::filesystem;

namespace {

/// Returns nothing when no point was measured yet: the file is missing, empty, or holds only a part of its first line.
std::optional<report::ResultsFile> load_former(const fs::path& file) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) return std::nullopt;
    const auto first = report::LineReader(file).next();
    return first && first->ended ? std::optional(report::load_results(file)) : std::nullopt;
}

/// Lists images and weights of finished points whose contents have changed since.
std::vector<std::string> changed_inputs(const std::vector<report::KeptPoint>& kept) {
    std::map<std::string, std::string> files, weights, changes;
    const auto compare = [&](const std::string& path, const std::string& recorded) {
        if (path.empty() || recorded.empty()) return;
        auto& digest = files[path];
        if (digest.empty()) digest = sha256_of_file(path);
        if (digest != recorded) changes[path] = "the contents of " + path + " are other ones";
    };
    for (const auto& [recorded, planned] : kept) {
        const record::PointTrace& trace = recorded->trace;
        const auto& settings = planned->settings;  // its files may have been moved since
        compare(settings.image.path, trace.image_sha256);
        compare(settings.image.clean, trace.clean_sha256);
        compare(settings.engine.file, trace.engine_sha256);
        if (trace.weights_sha256.empty()) continue;
        auto& digest = weights[run::weights_key(settings, trace.point.source.channels)];
        if (digest.empty()) digest = run::find_weights(settings, trace.point.source.channels).sha256;
        if (digest != trace.weights_sha256) {
            const std::string& file = settings.network.is_custom() ? settings.network.file : settings.weights;
            changes[file] = fmt::format("the weights '{}' are other ones", file);
        }
    }
    return mapped(changes, [](const auto& change) { return change.second; });
}

void check_changes(const std::vector<std::string>& changes, const fs::path& file, bool force) {
    if (changes.empty()) return;
    const std::string list = fmt::format("{}", fmt::join(changes, "\n  "));
    if (!force)
        throw UsageError(fmt::format(
            "cannot resume {}: changed since it was written:\n  {}\nMeasure again in another folder (--out), or go on "
            "with --force: points before and after then do not compare",
            file.string(), list));
    print_timed("resumed with --force although changed since:\n  " + list);
}

/// Makes the verdict INVALID when the sessions had different environments: their points do not compare.
void rate_sessions(const report::ResultsFile& results, bool strict, measure::Verdict& verdict) {
    for (size_t i = 1; i < results.sessions.size(); ++i) {
        const auto changes = report::decisive_differences(results.environment(), results.sessions[i].environment);
        if (changes.empty()) continue;
        verdict.validity = std::max(verdict.validity, measure::Validity::invalid);
        verdict.reasons.push_back("measured in different environments (" + changes.front().text() +
                                  (changes.size() > 1 ? ", ..." : "") + "); run the study again in one");
        if (strict && verdict.exit_code == ExitCode::ok) verdict.exit_code = ExitCode::not_comparable;
        return;
    }
}

/// A study of more points prints neither ranks nor FOM lines without --verbose.
constexpr size_t kMostDetailed = 8;
/// How many of its remarks, curves and rows beside the table of points it prints then.
constexpr size_t kMostListed = 3;

/// The tables of ranks of the measured points under unique labels. `summaries` are those of the points, in the same
/// order.
std::string ranks_text(const report::ResultsFile& results, std::vector<measure::Summary> summaries, size_t width) {
    const auto labels = report::unique_labels(summaries);
    std::string text;
    for (size_t i = 0; i < summaries.size(); ++i) {
        if (summaries[i].status != record::PointStatus::ok) continue;
        summaries[i].label = labels[i];
        text += report::ranks_table(summaries[i], results.topology_of(results.points[i]), width) + "\n";
    }
    return text;
}

std::string images_text(const report::ResultsFile& results, bool is_detailed, const fs::path& folder) {
    std::string text;
    size_t count = 0;
    for (const auto& point : results.points) {
        if (point.trace.output_file.empty()) continue;
        text += fmt::format("image:   {}\n", point.trace.output_file);
        ++count;
    }
    return is_detailed || count == 0 ? text : fmt::format("images:  {} in {}\n", count, folder.string());
}

void copy_to_standard_output(const fs::path& file) {
    std::ifstream lines(file, std::ios::binary);
    for (std::string line; std::getline(lines, line);) print_whole(stdout, "{}\n", line);
}

}  // namespace

plan::Plan rest_of(const plan::Plan& plan, const std::vector<size_t>& points) {
    plan::Plan rest{plan.study, {}};
    for (const size_t point : points) rest.points.push_back(plan.points.at(point));
    return rest;
}

StudyRecord::StudyRecord(RecordOptions options, const plan::Plan& plan, const record::Environment& environment)
    : options_(std::move(options)), file_(options_.folder / report::kResultsName) {
    make_folder(options_.folder);
    for (const char* name : {report::kResultsName, "results.csv", "figures.txt", "report.html"})
        for (const fs::path& input : options_.inputs) require_not_input(options_.folder / name, input);
    lock_ = lock_folder(options_.folder);
    const auto former = options_.resume ? load_former(file_) : std::nullopt;
    if (former)
        resume(*former, plan, environment);
    else
        start(plan, environment);
}

run::ProgressListener& StudyRecord::show_progress(const plan::Plan& plan) {
    return progress_.emplace(plan.points.size(), rest_of(plan, to_do_).points);
}

void StudyRecord::start(const plan::Plan& plan, const record::Environment& environment) {
    constexpr std::array kMadeOfThem{"results.csv", "figures.txt", "report.html", "previews"};
    if (const fs::path aside = report::move_aside(file_, kMadeOfThem, options_.inputs); !aside.empty())
        print_timed(fmt::format("earlier results are kept in {}", aside.string()));
    to_do_.resize(plan.points.size());
    std::iota(to_do_.begin(), to_do_.end(), 0);
    results_.emplace(file_, plan.study, environment);
}

void StudyRecord::resume(const report::ResultsFile& former, const plan::Plan& plan,
                         const record::Environment& environment) {
    if (!former.torn.empty()) print_timed(former.torn_remark());
    const auto differences = report::decisive_differences(former.sessions.back().environment, environment);
    check_changes(mapped(differences, &report::Difference::text), file_, options_.force);
    report::Resumption resumption = report::make_resumption(former, plan);
    std::vector<std::string> changes = changed_inputs(resumption.kept);
    changes.insert(changes.end(), resumption.changes.begin(), resumption.changes.end());
    check_changes(changes, file_, options_.force);
    for (size_t i = 0; i < plan.points.size(); ++i)
        if (!resumption.finished[i]) to_do_.push_back(i);
    int64_t num_gone = 0;
    for (const auto& kept : resumption.kept) {
        keep_files_of(kept.recorded->trace);
        const fs::path image = kept.recorded->trace.output_file;
        num_gone += image.empty() || fs::exists(options_.folder / image.filename()) ? 0 : 1;
    }
    print_timed(fmt::format("resumed: {} of {} points are finished", resumption.kept.size(), plan.points.size()));
    if (num_gone > 0)
        print_timed(
            fmt::format("{} of finished points {} gone, and not made again: measure in another folder (--out) to "
                        "have them",
                        counted(num_gone, "image"), num_gone == 1 ? "is" : "are"));
    resumption.lines.push_back(report::resume_line(environment));
    results_.emplace(file_, resumption.lines);
}

void StudyRecord::keep_files_of(const record::PointTrace& trace) {
    const record::Preview preview = trace.preview.value_or(record::Preview{});
    for (const std::string& file : {trace.output_file, preview.noisy_file, preview.denoised_file, preview.clean_file})
        if (!file.empty()) kept_files_.push_back(fs::path(file).filename().string());
}

void StudyRecord::add(const record::PointTrace& trace) {
    const measure::Summary summary = measure::summarise(trace);
    results_->write_point(trace, summary);
    progress_->finish(trace, summary.validity);
}

void StudyRecord::print(const report::ResultsFile& results, const measure::StudySummary& study,
                        const measure::Verdict& verdict, bool files_written) const {
    std::FILE* out = text_stream(options_.json);
    const auto summaries = results.summaries();
    const bool is_detailed = options_.verbose || summaries.size() <= kMostDetailed || !files_written;
    report::TextSize size{.width = terminal_width(out)};
    if (!is_detailed) size.most = kMostListed;
    print_text(out, "{}\n", report::points_table(summaries, study.recommendations, size));
    if (const std::string text = report::study_text(study, size); !text.empty()) print_text(out, "{}\n", text);
    if (is_detailed) print_text(out, "{}", ranks_text(results, summaries, size.width));
    const auto left = std::ranges::count_if(summaries, record::is_cut_short, &measure::Summary::status);
    if (left > 0 && options_.can_resume)
        print_whole(out, "left:    {}; the same command with --resume goes on\n", counted(left, "point"));
    print_whole(out, "results: {}\n", file_.string());
    if (files_written) print_whole(out, "report:  {}\n", (options_.folder / "report.html").string());
    if (!is_detailed)
        print_text(out, "figures: {} (all remarks, ranks of the points, FOM lines; --verbose prints them)\n",
                   (options_.folder / "figures.txt").string());
    print_whole(out, "{}\n{}{}\n", images_text(results, is_detailed, options_.folder),
                is_detailed ? report::fom_lines(summaries) : "", report::verdict_line(verdict));
    if (options_.json) copy_to_standard_output(file_);
}

ExitCode StudyRecord::finish() {
    progress_.reset();
    report::ResultsFile results = report::load_results(file_);
    std::ranges::stable_sort(results.points, {}, [](const auto& point) { return point.summary.index; });
    const auto summaries = results.summaries();
    measure::Verdict verdict = measure::judge(summaries, options_.strict);
    rate_sessions(results, options_.strict, verdict);
    const measure::StudySummary study = report::summarise_results(results);
    results_->write_study_summary(study);
    results_->write_end(verdict);
    const run::Attempt written = run::attempt([&] {
        write_whole(options_.folder / "results.csv", report::csv_text(std::span(&results, 1), options_.csv_style));
        write_whole(options_.folder / "figures.txt",
                    report::points_table(summaries, study.recommendations) + "\n" + report::study_text(study) + "\n" +
                        ranks_text(results, summaries, report::kAnyWidth) + report::fom_lines(summaries));
        report::write_html({file_}, options_.folder / "report.html");
    });
    const bool whole = written.kind == run::Attempt::Kind::ok;
    print(results, study, verdict, whole);
    // A full disk prevents these files, but the measurements are already saved.
    if (!whole)
        throw Error(written.reason + "; everything measured is in " + file_.string() + ": patchbench report " +
                    file_.string() + " --csv FILE --html FILE makes both");
    return verdict.exit_code;
}

}  // namespace pb::app
