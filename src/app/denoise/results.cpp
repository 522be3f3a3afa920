#include "app/denoise/results.hpp"

#include "app/session.hpp"
#include "app/terminal.hpp"
#include "base/text.hpp"
#include "measure/verdict.hpp"
#include "record/row.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

namespace pb::app {

/// What ranks send. Of the worst pass, only what judge_images uses.
template <class V, record::Like<ImageResult> R>
void fields(V& v, R& result) {
    v("job", result.job);
    v("is_written", result.is_written);
    v("is_interrupted", result.is_interrupted);
    v("images_in_pass", result.images_in_pass);
    v("passes", result.checks.passes);
    v("passes_checked", result.checks.passes_checked);
    v("windows", result.checks.windows);
    v("network_sha256", result.network_sha256);
    v("lines", result.lines);
    v("status", result.worst_pass.status);
    v("validity", result.worst_pass.validity);
    v("verification", result.worst_pass.verification);
    v("repetitions", result.worst_pass.repetitions);
    v("reasons", result.worst_pass.reasons);
}

template <class V, record::Like<ImageResults> R>
void fields(V& v, R& results) {
    v("images", results.images);
}

namespace {

/// Returns the results of all ranks, in the order of the ranks, on the root.
std::vector<ImageResult> gather_results(const comm::Communicator& world, const ImageResults& mine) {
    std::vector<ImageResult> all;
    for (const auto& row : world.gather(record::pack(mine))) {
        const auto results = record::unpack<ImageResults>(row);
        all.insert(all.end(), results.images.begin(), results.images.end());
    }
    return all;
}

/// In the order of the images.
void fail_other_networks(std::vector<ImageResult>& all) {
    const auto first = std::ranges::find_if(all, [](const ImageResult& each) { return !each.network_sha256.empty(); });
    if (first == all.end()) return;
    for (ImageResult& each : all) {
        if (each.network_sha256.empty() || each.network_sha256 == first->network_sha256) continue;
        const std::string reason = fmt::format(
            "the network had other weights than for the first image (sha256 of its tensors {:.12}, not {:.12}): "
            "all ranks must load or draw the same ones",
            each.network_sha256, first->network_sha256);
        each.is_written = false;
        each.lines += "; wrong, remove it: " + reason;
        each.worst_pass.validity = measure::Validity::failed;
        each.worst_pass.verification = record::Verification::Outcome::failed;
        each.worst_pass.reasons = {reason};
    }
}

/// An image without a result counts as skipped.
measure::ImageVerdict judge(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    std::vector<measure::Summary> summaries;
    std::ranges::transform(all, std::back_inserter(summaries), &ImageResult::worst_pass);
    measure::Summary skipped;
    skipped.status = record::PointStatus::skipped;
    summaries.resize(counts.to_do, skipped);
    return measure::judge_images(std::move(summaries));
}

/// Says how many images shared batches with others; empty if none did.
std::string groups_text(const std::vector<ImageResult>& all) {
    int64_t most = 1, grouped = 0;
    for (const ImageResult& each : all) {
        most = std::max(most, each.images_in_pass);
        grouped += each.images_in_pass > 1 ? 1 : 0;
    }
    return grouped == 0 ? "" : fmt::format("windows of up to {} images in one batch ({} images)", most, grouped);
}

/// Says how much was computed again. Empty when that was every pass, and with `--verify 0`.
std::string checks_line(const std::vector<ImageResult>& all) {
    CheckCounts sum;
    for (const ImageResult& each : all) sum += each.checks;
    if (sum.passes_checked == sum.passes) return "";
    return fmt::format(
        "verified: {} of {} passes over an image or page, by {} computed again; the others by their tiles and "
        "samples (--verify 1: every pass)",
        sum.passes_checked, sum.passes, counted(sum.windows, "window"));
}

std::string counts_line(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    const auto written = static_cast<size_t>(std::ranges::count(all, true, &ImageResult::is_written));
    const auto interrupted = static_cast<size_t>(std::ranges::count(all, true, &ImageResult::is_interrupted));
    const size_t named = counts.to_do + counts.kept;
    std::string line =
        fmt::format("{}: {} denoised, {} failed", counted(named, "image"), written, all.size() - written - interrupted);
    if (interrupted > 0) line += fmt::format(", {} interrupted", interrupted);
    if (all.size() < counts.to_do)
        line += fmt::format(", {} not begun (the same command with --no-clobber goes on)", counts.to_do - all.size());
    if (counts.kept > 0) line += fmt::format(", {} there already", counts.kept);
    if (counts.passed_over > 0)
        line += fmt::format("; {} in the folders passed over", counted(counts.passed_over, "other file"));
    if (const std::string groups = groups_text(all); !groups.empty()) line += "; " + groups;
    return line;
}

/// Orders passes by what they mean for their image.
bool is_better(const measure::Summary& a, const measure::Summary& b) {
    const auto badness = [](const measure::Summary& pass) {
        return std::tuple(pass.verification == record::Verification::Outcome::failed,
                          pass.status != record::PointStatus::ok, pass.validity);
    };
    return badness(a) < badness(b);
}

bool is_unfinished(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    return all.size() < counts.to_do || std::ranges::any_of(all, &ImageResult::is_interrupted);
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

void print(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    for (const ImageResult& each : all) print_text(stdout, "{}\n", each.lines);
    fmt::print("\n");
    if (counts.to_do + counts.kept > 1 || counts.passed_over > 0) print_text(stdout, "{}\n", counts_line(all, counts));
    if (const std::string checks = checks_line(all); !checks.empty()) print_text(stdout, "{}\n", checks);
}

}  // namespace

void ImageResults::add(size_t job, std::string lines, const ImagePasses& passes) {
    const std::vector<measure::Summary>& all = passes.summaries;
    const bool is_written = std::ranges::all_of(all, [](const measure::Summary& pass) {
        return pass.status == record::PointStatus::ok && pass.verification != record::Verification::Outcome::failed;
    });
    const bool is_interrupted =
        std::ranges::count(all, record::PointStatus::interrupted, &measure::Summary::status) > 0;
    images.push_back({job, is_written && !is_interrupted, is_interrupted, passes.images_in_pass, passes.checks,
                      passes.network_sha256, std::move(lines), *std::ranges::max_element(all, is_better)});
}

ExitCode conclude(const comm::Communicator& world, const ImageResults& mine, const ImageCounts& counts,
                  DenoiseProgress& progress) {
    progress.end();
    world.sleeping_barrier();
    std::vector<ImageResult> all = gather_results(world, mine);
    ExitCode code = ExitCode::ok;
    if (world.is_root()) {
        std::ranges::sort(all, {}, &ImageResult::job);
        fail_other_networks(all);
        const measure::ImageVerdict images = judge(all, counts);
        print(all, counts);
        print_text(stdout, "{}\n", progress.closing_line(world.size() > 1));
        fmt::print("{}\n", result_line_of(images, is_unfinished(all, counts)));
        code = images.verdict.exit_code;
    }
    return code_of_root(world, code);
}

}  // namespace pb::app
