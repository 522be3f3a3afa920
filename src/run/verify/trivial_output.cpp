#include "run/verify/trivial_output.hpp"

#include "comm/interruption.hpp"
#include "plan/slabs.hpp"
#include "run/agreement.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/window_check.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace pb::run {

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
}

namespace {

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

void judge_trivial_output(const Subject& subject, const TrivialOutput& found, record::Verification& result) {
    if (!found.equals_input() && !found.is_constant()) return;
    if (reference_confirms(subject)) return;
    if (found.equals_input()) result.reasons.emplace_back("the output equals the input");
    if (found.is_constant()) result.reasons.emplace_back("the output is constant");
}

void check_trivial_output(const Subject& subject, record::Verification& result) {
    constexpr size_t kFewWindows = 8;
    if (!look_at_windows(subject, kFewWindows).may_be()) return;
    judge_trivial_output(subject, look_at_windows(subject, std::numeric_limits<size_t>::max()), result);
}

}  // namespace pb::run
