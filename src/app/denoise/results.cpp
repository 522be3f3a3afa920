#include "app/denoise/results.hpp"

#include "app/terminal.hpp"
#include "base/text.hpp"
#include "measure/verdict.hpp"
#include "report/tables/tables.hpp"
#include "run/from_root.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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
    v("planned_passes", passes.planned.passes);
    v("unknown_passes", passes.planned.unknown);
    v("bounded_passes", passes.planned.bounded);
    v("planned_tflop", passes.planned.tflop);
    v("planned_peak_mib", passes.planned.peak_mib);
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
        lines += "; wrong, remove it: " + reason;
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
        "verified: {} of {} images or pages by {} computed again, the others by their tiles and samples (--verify 1: "
        "all by windows)",
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

bool is_unfinished(const ImageResults& all, const ImageCounts& counts) {
    return all.size() < counts.to_do || std::ranges::any_of(all, is_interrupted);
}

/// Where nothing is wrong but images are missing, "RESULT: UNFINISHED  <reasons>"; where they were not to be verified,
/// "RESULT: UNVERIFIED  <reasons>".
std::string result_line_of(const measure::ImageVerdict& images, bool unfinished) {
    constexpr std::string_view kValid = "RESULT: VALID";
    std::string line = report::verdict_line(images.verdict);
    const char* const instead = unfinished             ? "RESULT: UNFINISHED"
                                : images.is_unverified ? "RESULT: UNVERIFIED"
                                                       : nullptr;
    if (instead != nullptr && line.starts_with(kValid)) line.replace(0, kValid.size(), instead);
    return line;
}

void print(const ImageResults& all, const ImageCounts& counts) {
    for (const ImageResult& each : all) print_text(stdout, "{}\n", each.lines);
    fmt::print("\n");
    if (counts.to_do + counts.kept > 1 || counts.passed_over > 0) print_text(stdout, "{}\n", counts_line(all, counts));
    if (const std::string checks = checks_line(all); !checks.empty()) print_text(stdout, "{}\n", checks);
}

}  // namespace

ExitCode conclude_dry_run(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                          DenoiseProgress& progress) {
    ImageResults all = gather_results(world, mine, progress);
    ExitCode code = ExitCode::ok;
    if (world.is_root()) {
        PlannedNeeds needs;
        for (const ImageResult& each : all) {
            print_text(stdout, "{}\n", each.lines);
            needs += each.passes.planned;
        }
        fmt::print("\n");
        if (counts.to_do + counts.kept > 1 || counts.passed_over > 0)
            print_text(stdout, "{}{}\n", counts_line(all, counts, true),
                       needs.passes == 0 ? "" : "; in all: " + needs.text());
        fmt::print("dry run: nothing was written\n");
        if (!std::ranges::all_of(all, is_written)) code = ExitCode::failed;
        if (is_unfinished(all, counts)) code = ExitCode::partial;
    }
    return run::from_root(world, code);
}

ExitCode conclude(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                  DenoiseProgress& progress) {
    ImageResults all = gather_results(world, mine, progress);
    ExitCode code = ExitCode::ok;
    if (world.is_root()) {
        fail_other_networks(all);
        const measure::ImageVerdict images = judge(all, counts);
        print(all, counts);
        print_text(stdout, "{}\n", progress.closing_line(world.size() > 1));
        fmt::print("{}\n", result_line_of(images, is_unfinished(all, counts)));
        code = images.verdict.exit_code;
    }
    return run::from_root(world, code);
}

}  // namespace pb::app
