#include "run/verify/output_scan.hpp"

#include "comm/interruption.hpp"
#include "plan/rows.hpp"
#include "run/agreement.hpp"
#include "run/verify/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

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

/// How much there is in a part of a window that a network changes: its contrast, and the share of pixels that differ
/// from the next, which is large in noise and small beside the edges of a drawing.
struct Content {
    int64_t index = 0;  // of the window
    Rect part;
    double contrast = 0, unrest = 0;
};

Content content_of(int64_t index, const Rect& part, const image::Image& noisy) {
    const auto* samples = noisy.as<float>();
    const int64_t count = noisy.num_samples(), channels = noisy.channels();
    const auto [least, most] = std::minmax_element(samples, samples + count);
    int64_t different = 0;
    for (int64_t i = channels; i < count; ++i) different += samples[i] == samples[i - channels] ? 0 : 1;
    return {index, part, static_cast<double>(*most) - *least,
            static_cast<double>(different) / static_cast<double>(count)};
}

/// What may be run again of a window: its core, or of a band, which is too large with all its context, squares along
/// its top.
std::vector<Rect> parts_of(const Subject& subject, const Rect& core) {
    if (!plan::is_in_bands(subject.point())) return {core};
    std::vector<Rect> parts;
    const int64_t height = std::min(kProbeEdge, core.extent.h);
    for (int64_t column = 0; column < core.extent.w; column += kProbeEdge)
        parts.push_back({core.row, core.column + column, {height, std::min(kProbeEdge, core.extent.w - column)}});
    return parts;
}

/// Keeps the first few in falling order of `content`; of equal ones those that came first.
void keep_most(std::vector<Content>& kept, const Content& part, double Content::*content) {
    constexpr size_t kMostParts = 4;
    const auto place = std::ranges::upper_bound(kept, part.*content, std::greater<>{}, content);
    kept.insert(place, part);
    if (kept.size() > kMostParts) kept.pop_back();
}

/// The parts of this rank's windows in which a network would do most.
std::vector<Content> telling_parts(const Subject& subject) {
    const Work& work = subject.share.work();
    std::vector<Content> telling, restless;
    for (const int64_t index : readable_windows(subject.share.windows_done(), work, subject.output(), kProbeSeed)) {
        comm::stop_if_interrupted();
        for (const Rect& part : parts_of(subject, work.tile(index).core)) {
            const Content content = content_of(index, part, subject.reference.source().read_noisy(part));
            keep_most(telling, content, &Content::contrast);
            keep_most(restless, content, &Content::unrest);
        }
    }
    for (const Content& part : restless)
        if (std::ranges::find(telling, part.part, &Content::part) == telling.end()) telling.push_back(part);
    return telling;
}

/// Whether the reference, stored as the output is, equals the output in this part of a window.
bool is_as_reference(const Subject& subject, const Content& content) {
    const Rect& part = content.part;
    const image::Image right = expected_of(subject, subject.reference, subject.share.work().tile(content.index), part);
    const auto* samples = right.as<float>();
    if (!std::all_of(samples, samples + right.num_samples(), [](float sample) { return std::isfinite(sample); }))
        return false;  // integers cannot say so
    const image::Image expected = subject.output().as_stored(part, right);
    const image::Image written = subject.output().read(part);
    return std::equal(expected.as<float>(), expected.as<float>() + expected.num_samples(), written.as<float>());
}

/// Whether the parts of all ranks that would tell are as the reference. Collective.
bool reference_confirms(const Subject& subject) {
    bool here = true;
    together(subject.team.ranks, [&] {
        here = std::ranges::all_of(telling_parts(subject),
                                   [&](const Content& part) { return is_as_reference(subject, part); });
    });
    return subject.team.ranks.min(here ? 1 : 0) > 0;
}

/// Looks at up to `most` windows of each rank. Collective.
TrivialOutput look_at_windows(const Subject& subject, size_t most) {
    TrivialOutput found;
    together(subject.team.ranks, [&] {
        const Work& work = subject.share.work();
        std::vector<int64_t> indices = readable_windows(subject.share.windows_done(), work, subject.output(), 1);
        indices.resize(std::min(indices.size(), most));
        for (const int64_t index : indices) {
            if (!found.may_be()) return;
            comm::stop_if_interrupted();
            const Rect part = work.tile(index).core;
            found.add(subject.reference.source().read_noisy(part), subject.output().read(part));
        }
    });
    found.agree(subject.team.ranks);
    return found;
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

void TrivialOutput::add(const image::Image& in, const image::Image& out) {
    const auto* read = in.as<float>();
    const auto* written = out.as<float>();
    if (!first_in_) first_in_ = read[0];
    if (!first_out_) first_out_ = written[0];
    const auto count = static_cast<size_t>(out.num_samples());
    for (size_t i = 0; i < count; ++i) {
        equal_ = equal_ && written[i] == read[i];
        output_constant_ = output_constant_ && written[i] == *first_out_;
        input_constant_ = input_constant_ && read[i] == *first_in_;
        if (!std::isfinite(written[i]) || !std::isfinite(read[i])) continue;
        const double change = double{std::clamp(written[i], 0.0F, 1.0F)} - std::clamp(read[i], 0.0F, 1.0F);
        sum_of_differences_ += change;
        sum_of_squares_ += change * change;
        num_samples_ += 1;
    }
}

void TrivialOutput::agree(const comm::Communicator& ranks) {
    const auto is_one_value = [&](const std::optional<float>& first) {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        const double least = first ? double{*first} : kInfinity, most = first ? double{*first} : -kInfinity;
        return ranks.min(least) >= ranks.max(most);
    };
    for (bool* answer : {&equal_, &output_constant_, &input_constant_}) *answer = ranks.min(*answer ? 1 : 0) > 0;
    const bool is_one_input = is_one_value(first_in_), is_one_output = is_one_value(first_out_);
    input_constant_ = input_constant_ && is_one_input;
    output_constant_ = output_constant_ && is_one_output;
    sum_of_differences_ = ranks.sum(sum_of_differences_);
    sum_of_squares_ = ranks.sum(sum_of_squares_);
    num_samples_ = ranks.sum(num_samples_);
}

void judge_trivial_output(const Subject& subject, const TrivialOutput& found, record::Verification& result) {
    result.mean_shift = found.mean_shift();
    result.rms_change = found.rms_change();
    if (!found.equals_input() && !found.is_constant()) return;
    if (reference_confirms(subject)) return;
    if (found.equals_input()) result.reasons.emplace_back("the output equals the input");
    if (found.is_constant()) result.reasons.emplace_back("the output is constant");
}

void check_trivial_output(const Subject& subject, record::Verification& result) {
    constexpr size_t kFewWindows = 8;
    TrivialOutput found = look_at_windows(subject, kFewWindows);
    if (found.may_be()) found = look_at_windows(subject, std::numeric_limits<size_t>::max());
    judge_trivial_output(subject, found, result);
}

}  // namespace pb::run
