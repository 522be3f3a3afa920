#include "run/verify/output_scan.hpp"

#include "run/agreement.hpp"
#include "run/verify/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

constexpr const char* kAdvice = "with fp16 or untrained weights try bf16 or fp32, with huge weights engine: torch";
constexpr int64_t kBand = 256;  // rows that are in memory at a time

/// Whether the parts of an output are equal to the input, or constant.
struct TrivialOutputCheck {
    bool equal = true, output_constant = true, input_constant = true;
    std::optional<float> first_in, first_out;

    void add(const image::Image& in, const image::Image& out) {
        const auto* read = in.as<float>();
        const auto* written = out.as<float>();
        if (!first_in) first_in = read[0];
        if (!first_out) first_out = written[0];
        const auto count = static_cast<size_t>(out.num_samples());
        for (size_t i = 0; i < count; ++i) {
            equal = equal && written[i] == read[i];
            output_constant = output_constant && written[i] == *first_out;
            input_constant = input_constant && read[i] == *first_in;
        }
    }
};

void judge(bool input_constant, bool equal, bool output_constant, record::Verification& result) {
    if (!input_constant && equal) result.reasons.emplace_back("the output equals the input");
    if (!input_constant && output_constant) result.reasons.emplace_back("the output is constant");
}

/// Counts the samples of `band` that are poison or not finite, and sets `first` to the position of the first one.
void count_not_finite(const image::Image& band, int64_t first_row, record::Verification& result, std::string& first) {
    for (int64_t i = 0; i < band.num_samples(); ++i) {
        const float sample = band.as<float>()[i];
        if (std::isfinite(sample)) continue;
        const int64_t pixel = i / band.channels();
        if (first.empty())
            first = fmt::format("row {}, column {}, channel {}", first_row + pixel / band.extent().w,
                                pixel % band.extent().w, i % band.channels());
        ++result.pixels_not_finite;
        if (std::isnan(sample)) ++result.pixels_unwritten;
    }
}

/// Says what may have made samples that are not finite, and the way out: the largest sample of the input if it lies far
/// outside [0,1], the units of the network; else the precision or the weights.
std::string cause_of_not_finite(const Subject& subject) {
    constexpr float kFarOutside = 1000;
    float largest = 0;
    std::string place;
    ImageSource& source = subject.reference.source();
    const Extent extent = source.extent();
    for (int64_t row = 0; row < extent.h; row += kBand) {
        const image::Image band = source.read_noisy({row, 0, {std::min(kBand, extent.h - row), extent.w}});
        for (int64_t i = 0; i < band.num_samples(); ++i) {
            const float size = std::abs(band.as<float>()[i]);
            if (!(size > largest)) continue;
            largest = size;
            const int64_t pixel = i / band.channels();
            place = fmt::format("row {}, column {}", row + pixel / extent.w, pixel % extent.w);
        }
    }
    if (largest <= kFarOutside) return kAdvice;
    return fmt::format(
        "the input holds {:.3g} at {}, where 0 to 1 is expected: leave such samples out with --nodata "
        "(image.nodata), or say with --range (image.range) what is 0 and 1",
        largest, place);
}

/// Checks some windows of each rank: one that differs is enough.
void check_trivial_output(const Subject& subject, record::Verification& result) {
    constexpr size_t kMostWindows = 8;
    const comm::Communicator& ranks = subject.team.ranks;
    TrivialOutputCheck trivial;
    together(ranks, [&] {
        const Work& work = subject.share.work();
        std::vector<int64_t> indices = readable_windows(subject.share.windows_done(), work, subject.output(), 1);
        indices.resize(std::min(indices.size(), kMostWindows));
        for (const int64_t index : indices) {
            const Rect part = work.tile(index).core;
            trivial.add(subject.reference.source().read_noisy(part), subject.output().read(part));
        }
    });
    const auto on_all = [&](bool answer) { return ranks.min(answer ? 1 : 0) > 0; };
    const bool input_constant = on_all(trivial.input_constant);
    const bool equal = on_all(trivial.equal);
    judge(input_constant, equal, on_all(trivial.output_constant), result);
}

}  // namespace

std::optional<std::string> find_coverage_fault(const record::PointTrace& trace, const Team& team,
                                               const RankShare& share) {
    const double pixels = team.ranks.sum(share.work().core_pixels(share.windows_done()));
    if (pixels == trace.useful_pixels) return std::nullopt;
    return fmt::format("the windows keep {} pixels of {}: a fault of the tiling, please report it",
                       static_cast<int64_t>(pixels), static_cast<int64_t>(trace.useful_pixels));
}

std::optional<std::string> find_lost_values(const CoreSink& output) {
    if (output.num_lost() == 0) return std::nullopt;
    return fmt::format("{} values of the network were not finite before they became integers; {}", output.num_lost(),
                       kAdvice);
}

void count_unwritten(const record::PointTrace& trace, const Team& team, const StreamCounts& counts,
                     record::Verification& result) {
    const double written = team.ranks.sum(static_cast<double>(counts.pixels));
    result.pixels_unwritten = static_cast<int64_t>(trace.useful_pixels - written);
    if (result.pixels_unwritten != 0)
        result.reasons.push_back(
            fmt::format("{} output pixels were written, not each one once", static_cast<int64_t>(written)));
}

std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts) {
    return team.ranks.agree(counts.not_finite > 0 ? std::optional<std::string>("windows are not finite")
                                                  : std::nullopt);
}

void scan_held_output(const Subject& subject, record::Verification& result) {
    TrivialOutputCheck trivial;
    std::string first;
    const Extent extent = subject.output().extent();
    for (int64_t row = 0; row < extent.h; row += kBand) {
        const Rect band{row, 0, {std::min(kBand, extent.h - row), extent.w}};
        const image::Image out = subject.output().read(band);
        trivial.add(subject.reference.source().read_noisy(band), out);
        count_not_finite(out, row, result, first);
    }
    if (result.pixels_not_finite > 0)
        result.reasons.push_back(fmt::format("{} output samples are unwritten or not finite, the first at {}; {}",
                                             result.pixels_not_finite, first, cause_of_not_finite(subject)));
    judge(trivial.input_constant, trivial.equal, trivial.output_constant, result);
}

void scan_streamed_output(const Subject& subject, record::Verification& result) {
    const StreamCounts& counts = subject.share.streamed()->counts();
    const comm::Communicator& ranks = subject.team.ranks;
    count_unwritten(subject.trace, subject.team, counts, result);
    result.pixels_not_finite = static_cast<int64_t>(ranks.sum(static_cast<double>(counts.not_finite)));
    if (const auto names = name_ranks_not_finite(subject.team, counts)) result.reasons.push_back(*names);
    if (result.pixels_not_finite == 0) return check_trivial_output(subject, result);
    result.reasons.push_back(
        fmt::format("{} output samples are not finite; huge samples of the input do that, too (leave them out with "
                    "image.nodata); {}",
                    result.pixels_not_finite, kAdvice));
}

}  // namespace pb::run
