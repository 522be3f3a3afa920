#include "app/denoise/results.hpp"

#include "app/session.hpp"
#include "app/terminal.hpp"
#include "measure/verdict.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

namespace pb::app {

namespace {

// Ranks send the fields that `judge` uses as text. These two separators never occur in a reason.
constexpr char kEndOfReason = '\x1f', kEndOfSummary = '\x1e';

std::string summaries_text(const std::vector<measure::Summary>& summaries) {
    std::string text;
    for (const measure::Summary& summary : summaries) {
        text += fmt::format("{} {} {} {} ", static_cast<int>(summary.status), static_cast<int>(summary.validity),
                            static_cast<int>(summary.verification), summary.repetitions);
        for (const std::string& reason : summary.reasons) text += reason + kEndOfReason;
        text += kEndOfSummary;
    }
    return text;
}

void add_summaries(const std::string& text, std::vector<measure::Summary>& summaries) {
    std::istringstream all(text);
    for (std::string one; std::getline(all, one, kEndOfSummary);) {
        std::istringstream fields(one);
        int status = 0, validity = 0, verification = 0;
        measure::Summary summary;
        fields >> status >> validity >> verification >> summary.repetitions;
        fields.get();
        summary.status = static_cast<record::PointStatus>(status);
        summary.validity = static_cast<measure::Validity>(validity);
        summary.verification = static_cast<record::Verification::Outcome>(verification);
        for (std::string reason; std::getline(fields, reason, kEndOfReason);) summary.reasons.push_back(reason);
        summaries.push_back(std::move(summary));
    }
}

/// Applies judge_images to the summaries of the images of all ranks, in the order of the ranks. Collective. Only rank 0
/// gets the reasons; all ranks get the exit code.
measure::ImageVerdict judge_all(const comm::Communicator& world, const std::vector<measure::Summary>& mine) {
    const auto texts = world.gather(summaries_text(mine));
    measure::ImageVerdict images;
    if (world.is_root()) {
        std::vector<measure::Summary> all;
        for (const std::string& text : texts) add_summaries(text, all);
        images = measure::judge_images(std::move(all));
    }
    images.verdict.exit_code = code_of_root(world, images.verdict.exit_code);
    return images;
}

// Ranks send a result as "job is_written is_interrupted .. bytes\n" and the lines, because names of files may contain
// any character.
std::string to_text(const std::vector<ImageResult>& images) {
    std::string text;
    for (const ImageResult& each : images)
        text += fmt::format("{} {:d} {:d} {} {} {} {} {}\n{}", each.job, each.is_written, each.is_interrupted,
                            each.images_in_pass, each.checks.passes, each.checks.passes_checked, each.checks.windows,
                            each.lines.size(), each.lines);
    return text;
}

void add_from_text(const std::string& text, std::vector<ImageResult>& images) {
    std::istringstream stream(text);
    size_t bytes = 0;
    for (ImageResult each; stream >> each.job >> each.is_written >> each.is_interrupted >> each.images_in_pass >>
                           each.checks.passes >> each.checks.passes_checked >> each.checks.windows >> bytes;
         images.push_back(each)) {
        stream.get();
        each.lines.resize(bytes);
        stream.read(each.lines.data(), static_cast<std::streamsize>(bytes));
    }
}

/// Returns the results of all ranks in the order of the images, on the root.
std::vector<ImageResult> gather_results(const comm::Communicator& world, const std::vector<ImageResult>& mine) {
    std::vector<ImageResult> all;
    for (const std::string& text : world.gather(to_text(mine))) add_from_text(text, all);
    std::sort(all.begin(), all.end(), [](const ImageResult& a, const ImageResult& b) { return a.job < b.job; });
    return all;
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
        sum.passes_checked, sum.passes, report::counted(sum.windows, "window"));
}

std::string counts_line(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    const auto count = [&](bool ImageResult::*is) {
        return static_cast<size_t>(std::count_if(all.begin(), all.end(), std::mem_fn(is)));
    };
    const size_t written = count(&ImageResult::is_written), interrupted = count(&ImageResult::is_interrupted);
    const size_t named = counts.to_do + counts.kept;
    std::string line = fmt::format("{}: {} denoised, {} failed", report::counted(named, "image"), written,
                                   all.size() - written - interrupted);
    if (interrupted > 0) line += fmt::format(", {} interrupted", interrupted);
    if (all.size() < counts.to_do) line += fmt::format(", {} not begun", counts.to_do - all.size());
    if (counts.kept > 0) line += fmt::format(", {} there already", counts.kept);
    if (counts.passed_over > 0)
        line += fmt::format("; {} in the folders passed over", report::counted(counts.passed_over, "other file"));
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
    return all.size() < counts.to_do || std::any_of(all.begin(), all.end(), std::mem_fn(&ImageResult::is_interrupted));
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
    const bool is_written = std::all_of(all.begin(), all.end(), [](const measure::Summary& pass) {
        return pass.status == record::PointStatus::ok && pass.verification != record::Verification::Outcome::failed;
    });
    const bool is_interrupted = std::any_of(all.begin(), all.end(), [](const measure::Summary& pass) {
        return pass.status == record::PointStatus::interrupted;
    });
    images.push_back(
        {job, is_written && !is_interrupted, is_interrupted, passes.images_in_pass, passes.checks, std::move(lines)});
    summaries.push_back(*std::max_element(all.begin(), all.end(), is_better));
}

ExitCode conclude(const comm::Communicator& world, ImageResults mine, const ImageCounts& counts,
                  DenoiseProgress& progress) {
    progress.end();
    world.sleeping_barrier();
    const std::vector<ImageResult> all = gather_results(world, mine.images);
    if (world.is_root()) {
        measure::Summary skipped;
        skipped.status = record::PointStatus::skipped;
        mine.summaries.insert(mine.summaries.end(), counts.to_do - all.size(), skipped);
    }
    const measure::ImageVerdict images = judge_all(world, mine.summaries);
    if (world.is_root()) {
        print(all, counts);
        print_text(stdout, "{}\n", progress.closing_line(world.size() > 1));
        fmt::print("{}\n", result_line_of(images, is_unfinished(all, counts)));
    }
    return images.verdict.exit_code;
}

}  // namespace pb::app
