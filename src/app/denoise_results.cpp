#include "app/denoise_results.hpp"

#include "app/judge_all.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

namespace pb::app {

namespace {

// Ranks send a result as "job is_written bytes\n" and the lines, because names of files may contain any character.
std::string to_text(const std::vector<ImageResult>& images) {
    std::string text;
    for (const ImageResult& each : images)
        text += fmt::format("{} {:d} {}\n{}", each.job, each.is_written, each.lines.size(), each.lines);
    return text;
}

void add_from_text(const std::string& text, std::vector<ImageResult>& images) {
    std::istringstream stream(text);
    size_t bytes = 0;
    for (ImageResult each; stream >> each.job >> each.is_written >> bytes; images.push_back(each)) {
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

std::string counts_line(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    const auto written = static_cast<size_t>(
        std::count_if(all.begin(), all.end(), [](const ImageResult& each) { return each.is_written; }));
    const size_t named = counts.to_do + counts.kept;
    std::string line =
        fmt::format("{} image{}: {} denoised, {} failed", named, named == 1 ? "" : "s", written, all.size() - written);
    if (all.size() < counts.to_do) line += fmt::format(", {} not begun", counts.to_do - all.size());
    if (counts.kept > 0) line += fmt::format(", {} there already", counts.kept);
    if (counts.passed_over > 0)
        line += fmt::format("; {} other file{} in the folders passed over", counts.passed_over,
                            counts.passed_over == 1 ? "" : "s");
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

void print(const std::vector<ImageResult>& all, const ImageCounts& counts) {
    for (const ImageResult& each : all) fmt::print("{}\n", each.lines);
    fmt::print("\n");
    if (counts.to_do + counts.kept > 1 || counts.passed_over > 0) fmt::print("{}\n", counts_line(all, counts));
}

}  // namespace

void ImageResults::add(size_t job, std::string lines, const std::vector<measure::Summary>& passes) {
    const bool is_written = std::all_of(passes.begin(), passes.end(), [](const measure::Summary& pass) {
        return pass.status == record::PointStatus::ok && pass.verification != record::Verification::Outcome::failed;
    });
    images.push_back({job, is_written, std::move(lines)});
    summaries.push_back(*std::max_element(passes.begin(), passes.end(), is_better));
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
    const measure::Verdict verdict = judge_all(world, mine.summaries);
    if (world.is_root()) {
        print(all, counts);
        fmt::print("{}\n{}\n", progress.closing_line(world.size() > 1), report::verdict_line(verdict));
    }
    return verdict.exit_code;
}

}  // namespace pb::app
