#include "app/denoise/results.hpp"

#include "app/terminal.hpp"
#include "base/text.hpp"
#include "measure/verdict.hpp"
#include "report/results/json_values.hpp"
#include "report/tables/tables.hpp"
#include "run/from_root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <string_view>

namespace pb::app {

/// What ranks send. Of the worst pass, only what judge_images uses.
template <class V, record::Like<ImageResult> R>
void fields(V& v, R& result) {
    v("job", result.job);
    v("lines", result.lines);
    auto& passes = result.passes;
    v("is_written", passes.is_written);
    v("is_interrupted", passes.is_interrupted);
    v("images_in_pass", passes.images_in_pass);
    v("passes", passes.checks.passes);
    v("passes_checked", passes.checks.passes_checked);
    v("windows", passes.checks.windows);
    v("network_sha256", passes.network_sha256);
    v("status", passes.worst.status);
    v("validity", passes.worst.validity);
    v("verification", passes.worst.verification);
    v("repetitions", passes.worst.repetitions);
    v("reasons", passes.worst.reasons);
    v("planned", passes.planned);
}

namespace {

bool is_written(const ImageResult& image) { return image.passes.is_written; }
bool is_interrupted(const ImageResult& image) { return image.passes.is_interrupted; }

/// Waits for ranks that still work. Returns the results of all, in the order of the images, on the root.
ImageResults gather_results(const comm::Communicator& world, const ImageResults& mine, DenoiseProgress& progress) {
    progress.end();
    world.sleeping_barrier();
    ImageResults all;
    for (const auto& row : world.gather(record::pack(mine)))
        std::ranges::move(record::unpack<ImageResults>(row), std::back_inserter(all));
    std::ranges::sort(all, {}, &ImageResult::job);
    return all;
}

/// In the order of the images.
void fail_other_networks(ImageResults& all) {
    const auto first =
        std::ranges::find_if(all, [](const ImageResult& each) { return !each.passes.network_sha256.empty(); });
    if (first == all.end()) return;
    const std::string& expected = first->passes.network_sha256;
    for (auto& [job, lines, passes] : all) {
        if (passes.network_sha256.empty() || passes.network_sha256 == expected) continue;
        const std::string reason = fmt::format(
            "the network had other weights than for the first image (sha256 of its tensors {:.12}, not {:.12}): "
            "all ranks must load or draw the same ones",
            passes.network_sha256, expected);
        for (ImageLine& line : lines) {
            line.status = record::PointStatus::failed;
            line.reason = reason;
        }
        passes.is_written = false;
        passes.worst.validity = measure::Validity::failed;
        passes.worst.verification = record::Verification::Outcome::failed;
        passes.worst.reasons = {reason};
    }
}

/// An image without a result counts as skipped.
measure::ImageVerdict judge(const ImageResults& all, const ImageCounts& counts) {
    std::vector<measure::Summary> summaries;
    for (const ImageResult& each : all) summaries.push_back(each.passes.worst);
    measure::Summary skipped;
    skipped.status = record::PointStatus::skipped;
    summaries.resize(counts.to_do, skipped);
    return measure::judge_images(std::move(summaries));
}

/// Says how many images shared batches with others; empty if none did.
std::string groups_text(const ImageResults& all) {
    int64_t most = 1, grouped = 0;
    for (const ImageResult& each : all) {
        most = std::max(most, each.passes.images_in_pass);
        grouped += each.passes.images_in_pass > 1 ? 1 : 0;
    }
    return grouped == 0 ? "" : fmt::format("windows of up to {} images in one batch ({} images)", most, grouped);
}

/// Says how much was computed again. Empty when that was every pass, and with `--verify 0`.
std::string checks_line(const ImageResults& all) {
    CheckCounts sum;
    for (const ImageResult& each : all) sum += each.passes.checks;
    if (sum.passes_checked == sum.passes) return "";
    return fmt::format(
        "verified: {} of {} images or pages by {} computed again; the others only searched for pixels that are missing "
        "or not finite "
        "(--verify 1: all by windows)",
        sum.passes_checked, sum.passes, counted(sum.windows, "window"));
}

std::string counts_line(const ImageResults& all, const ImageCounts& counts, bool is_dry = false) {
    const auto written = static_cast<size_t>(std::ranges::count_if(all, is_written));
    const auto interrupted = static_cast<size_t>(std::ranges::count_if(all, is_interrupted));
    const size_t named = counts.to_do + counts.kept;
    std::string line = fmt::format("{}: {} {}, {} failed", counted(named, "image"), written,
                                   is_dry ? "to denoise" : "denoised", all.size() - written - interrupted);
    if (interrupted > 0) line += fmt::format(", {} interrupted", interrupted);
    if (all.size() < counts.to_do)
        line += fmt::format(", {} not begun{}", counts.to_do - all.size(),
                            is_dry ? "" : " (the same command with --no-clobber goes on)");
    if (counts.kept > 0) line += fmt::format(", {} there already", counts.kept);
    if (counts.passed_over > 0)
        line += fmt::format("; {} in the folders passed over", counted(counts.passed_over, "other file"));
    if (const std::string groups = groups_text(all); !groups.empty()) line += "; " + groups;
    return line;
}

constexpr std::string_view kDryRun = "DRY RUN";
constexpr const char* kNothingWritten = "dry run: nothing was written";

/// What all images come to, as in the text; `result` is the word of the line RESULT, or kDryRun.
void print_object(std::string_view result, const std::vector<std::string>& reasons, const ImageResults& all,
                  const ImageCounts& counts, ExitCode code) {
    for (const ImageResult& each : all)
        for (const ImageLine& line : each.lines) print_whole(stdout, "{}\n", line.json(each.passes.worst.verification));
    const auto written = std::ranges::count_if(all, is_written);
    const auto interrupted = std::ranges::count_if(all, is_interrupted);
    print_whole(stdout, "{}\n",
                report::line_of({{"type", "result"},
                                 {"result", result},
                                 {"reasons", reasons},
                                 {result == kDryRun ? "to_denoise" : "denoised", written},
                                 {"failed", std::ssize(all) - written - interrupted},
                                 {"interrupted", interrupted},
                                 {"not_begun", counts.to_do - all.size()},
                                 {"there_already", counts.kept},
                                 {"passed_over", counts.passed_over},
                                 {"exit_code", static_cast<int>(code)}}));
}

bool is_unfinished(const ImageResults& all, const ImageCounts& counts) {
    return all.size() < counts.to_do || std::ranges::any_of(all, is_interrupted);
}

/// UNFINISHED where nothing is wrong but images are missing, UNVERIFIED where they were not to be verified.
std::string_view result_of(const measure::ImageVerdict& images, bool unfinished) {
    if (images.verdict.validity != measure::Validity::valid) return name_of(images.verdict.validity);
    return unfinished ? "UNFINISHED" : images.is_unverified ? "UNVERIFIED" : name_of(measure::Validity::valid);
}

void print_lines(std::FILE* out, const ImageResults& all) {
    std::set<std::string> said;
    for (const ImageResult& each : all)
        for (const ImageLine& line : each.lines) print_text(out, "{}\n", line.text(said));
    print_whole(out, "\n");
}

bool has_counts(const ImageCounts& counts) { return counts.to_do + counts.kept > 1 || counts.passed_over > 0; }

}  // namespace

ExitCode conclude_dry_run(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                          DenoiseProgress& progress, bool json) {
    const ImageResults all = gather_results(world, mine, progress);
    ExitCode code = ExitCode::ok;
    if (world.is_root()) {
        std::FILE* const out = text_stream(json);
        PlannedNeeds needs;
        for (const ImageResult& each : all) needs += each.passes.planned;
        print_lines(out, all);
        if (has_counts(counts))
            print_text(out, "{}{}\n", counts_line(all, counts, true),
                       needs.passes == 0 ? "" : "; in all: " + needs.text());
        print_whole(out, "{}\n", kNothingWritten);
        if (!std::ranges::all_of(all, is_written)) code = ExitCode::failed;
        if (is_unfinished(all, counts)) code = ExitCode::partial;
        if (json) print_object(kDryRun, {}, all, counts, code);
    }
    return run::from_root(world, code);
}

ExitCode conclude(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                  DenoiseProgress& progress, bool json) {
    ImageResults all = gather_results(world, mine, progress);
    ExitCode code = ExitCode::ok;
    if (world.is_root()) {
        std::FILE* const out = text_stream(json);
        fail_other_networks(all);
        const measure::ImageVerdict images = judge(all, counts);
        const measure::Verdict& verdict = images.verdict;
        const std::string_view result = result_of(images, is_unfinished(all, counts));
        print_lines(out, all);
        if (has_counts(counts)) print_text(out, "{}\n", counts_line(all, counts));
        if (const std::string checks = checks_line(all); !checks.empty()) print_text(out, "{}\n", checks);
        print_text(out, "{}\n", progress.closing_line(world.size() > 1));
        print_whole(out, "{}\n", report::result_line(result, verdict.reasons));
        code = verdict.exit_code;
        if (json) print_object(result, verdict.reasons, all, counts, code);
    }
    return run::from_root(world, code);
}

ExitCode conclude_none(const comm::Communicator& world, const ImageCounts& counts, bool is_dry, bool json) {
    const std::string_view result = is_dry ? kDryRun : name_of(measure::Validity::valid);
    if (!world.is_root()) return ExitCode::ok;
    std::FILE* const out = text_stream(json);
    print_text(out, "{}\n", counts_line({}, counts, is_dry));
    print_whole(out, "{}\n", is_dry ? kNothingWritten : report::result_line(result, {}));
    if (json) print_object(result, {}, {}, counts, ExitCode::ok);
    return ExitCode::ok;
}

}  // namespace pb::app
