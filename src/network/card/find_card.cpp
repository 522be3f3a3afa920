#include "network/card/find_card.hpp"

#include "base/text.hpp"
#include "network/card/card_trials.hpp"
#include "network/graph_facts.hpp"
#include "network/receptive_field.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pb::network {

namespace {

constexpr std::array<int64_t, 12> kBaseEdges{64, 128, 256, 48, 56, 96, 112, 120, 240, 144, 176, 208};
constexpr int64_t kLargestAlignment = 64;
constexpr double kTrialSigma = 0.1;

/// The first window that the network accepts, with the channels of that candidate.
int64_t find_base(CardTrials& trials, const std::vector<NetworkCard>& candidates) {
    std::string first_refusal;
    for (const NetworkCard& candidate : candidates) {
        trials.found.card = candidate;
        for (const int64_t edge : kBaseEdges) {
            if (trials.accepts({edge, edge})) return edge;
            if (first_refusal.empty()) first_refusal = trials.last_refusal();
        }
    }
    throw UsageError(
        fmt::format("gives no image for windows of {} px: {}", fmt::join(kBaseEdges, ", "), first_refusal));
}

void check_repeatable(CardTrials& trials, int64_t base) {
    const TrialWindow window{.extent = {base, base}, .sigma = kTrialSigma};
    const std::vector<float> first = trials.run(noise_window(trials.found.card, window), window.extent);
    if (!std::ranges::all_of(first, [](float value) { return std::isfinite(value); }))
        throw UsageError("gives values that are not finite");
    const std::vector<float> second = trials.run(noise_window(trials.found.card, window), window.extent);
    if (trials.difference(first, second) > kVisible)
        throw UsageError("gives another output for the same window: export it in eval mode, without random numbers");
}

/// The smallest step by which both extents of an accepted window can grow.
int64_t find_alignment(CardTrials& trials, int64_t base) {
    for (int64_t step = 1; step <= std::min(base, kLargestAlignment); ++step)
        if (base % step == 0 && trials.accepts({base + step, base + step}) && trials.accepts({base + step, base}) &&
            trials.accepts({base, base + step}))
            return step;
    throw UsageError(fmt::format(
        "takes windows of {0} x {0} px, but none that are up to {1} px larger along one axis and along both: export it "
        "with dynamic height and width; the last one was refused: {2}",
        base, kLargestAlignment, trials.last_refusal()));
}

void look_at_sigma(CardTrials& trials, int64_t base) {
    if (trials.found.card.sigma == SigmaInput::none) return;
    const auto output = [&](double sigma) {
        const TrialWindow window{.extent = {base, base}, .sigma = sigma};
        return trials.run(noise_window(trials.found.card, window), window.extent);
    };
    if (trials.difference(output(0.02), output(0.2)) <= kVisible)
        trials.found.remarks.emplace_back("the noise level changes nothing in its output");
}

/// A network whose noise level has a default takes windows without one, and comes first among the candidates.
void look_for_level(CardTrials& trials, int64_t base, const std::vector<NetworkCard>& candidates) {
    const NetworkCard found = trials.found.card;
    const bool may_have_one = std::ranges::any_of(candidates, [&](const NetworkCard& each) {
        return each.sigma == SigmaInput::input && each.channels == found.channels;
    });
    if (found.sigma != SigmaInput::none || !may_have_one) return;
    const TrialWindow window{.extent = {base, base}, .sigma = kTrialSigma};
    const std::vector<float> without = trials.run(noise_window(found, window), window.extent);
    trials.found.card.sigma = SigmaInput::input;
    double change = 0;
    try {
        change = trials.difference(without, trials.run(noise_window(trials.found.card, window), window.extent));
    } catch (const UsageError&) {  // it takes one input only
    }
    trials.found.card = found;
    if (change > kVisible)
        trials.found.remarks.emplace_back(
            "it takes a second input, too, which changes its output and is not given: where that is the noise level, "
            "write sigma: input into its card");
}

/// How far the output is from a scene without noise: root mean squares, in [0,1] units.
struct SceneError {
    double of_output = 0;
    double of_difference = 0;  // of input - output, which is the scene where the output is the noise
};

/// For samples of which white is `range`.
SceneError error_with_range(CardTrials& trials, int64_t base, double range) {
    NetworkCard card = trials.found.card;
    card.range = range;
    const TrialWindow window{.extent = {base, base}, .sigma = kTrialSigma};
    const std::vector<float> scene = scene_window(card, window, false);
    const std::vector<float> noisy = scene_window(card, window, true);
    const std::vector<float> output = trials.run(noisy, window.extent);
    SceneError sum;
    for (size_t i = 0; i < output.size(); ++i) {  // the noise level, if it is a channel, is behind the image
        const double given = output[i];
        sum.of_output += std::pow((given - double{scene[i]}) / range, 2);
        sum.of_difference += std::pow((double{noisy[i]} - given - double{scene[i]}) / range, 2);
    }
    const auto count = static_cast<double>(output.size());
    return {std::sqrt(sum.of_output / count), std::sqrt(sum.of_difference / count)};
}

/// Sets the range: 255 for a network that takes noise away from samples of up to 255 and none from those of up to 1.
void find_range_of_samples(CardTrials& trials, int64_t base) {
    constexpr double kLarge = 255, kDenoises = 0.8, kFar = 3;
    FoundCard& found = trials.found;
    const SceneError error = error_with_range(trials, base, 1);
    found.card.range = 1;
    if (error.of_output <= kTrialSigma) return;
    const SceneError large = error_with_range(trials, base, kLarge);
    if (large.of_output < kDenoises * kTrialSigma) {
        found.card.range = kLarge;
    } else if (error.of_output > kFar * kTrialSigma &&
               std::min(error.of_difference, large.of_difference) < kTrialSigma) {
        found.remarks.emplace_back(
            "its output seems to be the noise, not the image: put the subtraction from the input into the model");
    }
}

}  // namespace

FoundCard find_card(const std::vector<NetworkCard>& candidates, const TryWindow& try_window) {
    CardTrials trials(try_window);
    const int64_t base = find_base(trials, candidates);
    check_repeatable(trials, base);
    trials.found.card.alignment = find_alignment(trials, base);
    look_at_sigma(trials, base);
    look_for_level(trials, base, candidates);
    find_range_of_samples(trials, base);
    find_reach(trials, base);
    check(trials.found.card);
    return std::move(trials.found);
}

void look_at_batches(FoundCard& found, const TryWindow& try_window) {
    constexpr double kRounding = 10 * kVisible;  // sums of a batch have another order; the verification allows as much
    CardTrials trials(try_window);
    trials.found = found;
    const int64_t base = find_base(trials, {found.card});
    const Extent extent{base, base};
    std::vector<float> both, apart;
    for (const int64_t row : {int64_t{0}, base}) {
        const std::vector<float> window = noise_window(found.card, {.extent = extent, .row = row});
        const std::vector<float> output = trials.run(window, extent);
        both.insert(both.end(), window.begin(), window.end());
        apart.insert(apart.end(), output.begin(), output.end());
    }
    const TrialOutput together = try_window(found.card, both, {2, found.card.channels_in(), base, base});
    const auto keep_apart = [&](const std::string& why) {
        found.card.batch = 1;
        found.remarks.push_back(why + ": each has a call of its own");
    };
    if (!together.refusal.empty())
        keep_apart("it does not take two windows in one call");
    else if (trials.difference(apart, together.values) > kRounding)
        keep_apart("two windows in one call change each other");
    found.num_trials = trials.found.num_trials + 1;
}

std::string channels_refusal(int64_t in, int64_t out) {
    const auto text = [](int64_t channels) { return channels == 0 ? "any channels" : counted(channels, "channel"); };
    return fmt::format(
        "takes {} and gives {}: an image has 1 or 3, and one more in the input where it is the noise level", text(in),
        text(out));
}

NetworkCard card_of(const Graph& layers) {
    constexpr int64_t kFarthestHalo = 8192;  // px
    const int64_t in = layers.channels_in(), out = layers.channels_out();
    const bool has_level = takes_sigma(layers);
    if ((out != 1 && out != 3) || (in != out && !has_level)) throw UsageError(channels_refusal(in, out));
    const int64_t halo = exact_halo_of(layers);
    if (halo > kFarthestHalo)
        throw UsageError(fmt::format("its layers see {} px on each side, more than {}", halo, kFarthestHalo));
    return {.channels = out,
            .sigma = has_level ? SigmaInput::channel : SigmaInput::none,
            .alignment = alignment_of(layers),
            .radius = receptive_radius_of(layers),
            .halo = halo,
            .layers = layers};
}

FoundCard find_range(const NetworkCard& card, const TryWindow& try_window) {
    CardTrials trials(try_window);
    trials.found.card = card;
    const int64_t base = round_up(kBaseEdges.front(), card.alignment);
    check_repeatable(trials, base);
    look_at_sigma(trials, base);
    find_range_of_samples(trials, base);
    return std::move(trials.found);
}

}  // namespace pb::network
