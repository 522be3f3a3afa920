#include "run/verify/output_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

constexpr const char* kAdvice = "with fp16 or untrained weights try bf16 or fp32, with huge weights engine: torch";
constexpr int64_t kBand = 256;  // rows that are in memory at a time

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

TrivialOutput scan_held_output(const Subject& subject, record::Verification& result) {
    TrivialOutput trivial;
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
    return trivial;
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
