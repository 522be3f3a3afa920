#include "run/point/settle.hpp"

#include "base/mapped.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "image/quality.hpp"
#include "run/agreement.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/reach.hpp"

#include "patchbench/network/network_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace pb::run {

namespace {

constexpr int64_t kHaloProbes = 4;
constexpr double kWorthwhileGain = 1.03;

constexpr double kSearchShare = 0.05;  // of the predicted job, at most
constexpr int64_t kCallsOfTrial = 2;   // the first one warms up

/// The time that the search for a batch has taken and may take. `most` is the number of windows of a rank.
class SearchBudget {
  public:
    explicit SearchBudget(int64_t most) : most_(most) {}

    void spend(double call_s, int64_t batch) {
        spent_s_ += kCallsOfTrial * call_s;
        window_s_ = call_s / static_cast<double>(batch);
    }
    /// Whether one more trial stays within the budget. It assumes the largest gain, half the time per window, because
    /// that also halves the job and with it the budget.
    [[nodiscard]] bool allows(int64_t batch) const {
        const double trial_s = window_s_ * static_cast<double>(kCallsOfTrial * batch);
        return 2 * spent_s_ + trial_s <= kSearchShare * window_s_ * static_cast<double>(most_);
    }

  private:
    int64_t most_;
    double spent_s_ = 0;
    double window_s_ = 0;
};

/// Whether batches 1 and 2 can be tried within the budget.
bool is_worth_a_search(int64_t most) {
    SearchBudget budget(most);
    budget.spend(1, 1);
    return budget.allows(2);
}

constexpr int64_t kEnoughPixels = int64_t{128} * 128;       // larger calls gain nothing (docs/studies/batch_fit.md)
constexpr int64_t kEnoughPixelsOnGpu = int64_t{512} * 512;  // assumed, not measured

/// The batch on a CPU, without trials. With a memory limit it is 1, the smallest.
int64_t batch_on_cpu(const plan::Point& point, int64_t most) {
    if (point.settings.memory_limit_mib > 0) return 1;
    return std::clamp<int64_t>(kEnoughPixels / plan::tile_grid(point).window().pixels(), 1, most);
}

/// Probes at the borders of the patches, which lie on a seam for every halo.
std::vector<Rect> halo_probes(const plan::Point& point) { return seam_probes(plan::patch_grid(point, 0), kHaloProbes); }

constexpr int64_t kScenePatch = 128;  // about: three patches along each axis meet at four corners
constexpr int64_t kScenePatches = 3;
/// Share of the tolerance that the error may take: half of that of a search on the image itself.
constexpr double kSceneCaution = 0.25;

/// The next power of 0.8 from `sigma` on upwards.
double rounded_up(double sigma) {
    constexpr double kStep = 0.8;
    double level = 1;
    while (level * kStep >= sigma && level * kStep >= network::kSmallestSigma) level *= kStep;
    return level;
}

/// A point for the same network and noise level, on the scene.
plan::Point scene_point(const plan::Point& point) {
    plan::Point scene = point;
    const double sigma = rounded_up(point.sigma);
    const int64_t alignment = point.facts().alignment;
    scene.sigma = sigma;
    scene.settings.patch = round_up(kScenePatch, alignment);
    scene.settings.image = {};
    scene.settings.image.height = scene.settings.image.width = kScenePatches * scene.settings.patch;
    scene.settings.image.channels = point.source.channels;
    scene.settings.image.noise_sigma = sigma;
    scene.source = {{scene.settings.image.height, scene.settings.image.width}, point.source.channels};
    return scene;
}

/// Everything that the answer depends on.
std::string question_of(const plan::Point& scene, const engine::Weights& weights) {
    constexpr int kMethod = 2;  // to be raised when the search changes
    std::string question =
        fmt::format("halo-{}-{}-sigma-{:.6g}-trained-{:.6g}-tolerance-{:.6g}-{}", weights.sha256, weights.channels(),
                    scene.sigma, weights.trained_sigma.value_or(0), scene.settings.halo_tolerance, kMethod);
    if (const auto& card = scene.settings.network.card) {  // of one file a card may say another range or kind of noise
        const std::string text = network::to_text(*card);
        question += "-card-" + sha256_of(std::as_bytes(std::span(text)));
    }
    return question;
}

std::optional<int64_t> halo_in(const std::optional<std::string>& answer, int64_t alignment, int64_t most) {
    int64_t halo = -1;
    const bool fits = answer && read_number(*answer, halo) && halo >= 0 && halo <= most && halo % alignment == 0;
    return fits ? std::optional(halo) : std::nullopt;
}

}  // namespace

bool has_seams(const plan::Point& point) { return !halo_probes(point).empty(); }

int64_t search_halo(const plan::Point& point, ReferencePath& reference, double caution) {
    const std::vector<Rect> probes = halo_probes(point);
    const Extent padded = plan::patch_grid(point, 0).padded();
    const Reach& reach = reference.reach();
    const std::vector<image::Image> exact =
        mapped(probes, [&](const Rect& probe) { return reference.run_with_context(probe, reach.context, padded); });
    const double most_error = caution * point.settings.halo_tolerance;
    const auto suffices = [&](int64_t halo) {
        for (size_t i = 0; i < probes.size(); ++i) {
            const image::Image found = reference.run_with_context(probes[i], halo, padded);
            const double error = image::max_abs_difference(found.view(), exact[i].view());
            if (!(error <= most_error)) return false;  // not a number, too
        }
        return true;
    };
    const int64_t step = point.facts().alignment;
    int64_t low = -1, high = reach.halo / step;  // in steps: too small, or not tried; large enough
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        (suffices(middle * step) ? high : low) = middle;
    }
    return high * step;
}

bool is_worth_a_halo_search(const plan::Point& point, int64_t exact_halo) {
    const std::vector<Rect> probes = halo_probes(point);
    const auto area = [&](int64_t halo) {
        int64_t pixels = 0;
        for (const Rect& probe : probes) pixels += (probe.extent.h + 2 * halo) * (probe.extent.w + 2 * halo);
        return static_cast<double>(pixels);
    };
    const auto num_steps = static_cast<double>(exact_halo) / static_cast<double>(point.facts().alignment);
    const double cost = area(exact_halo) + std::log2(num_steps + 1) * area(exact_halo / 2);
    return cost <= kSearchShare * static_cast<double>(point.source.extent.pixels());
}

int64_t full_batch(const plan::Point& point) {
    const config::BatchSetting& batch = point.settings.batch;
    if (!batch.is_open()) return batch.count;
    if (batch.largest || point.settings.memory_limit_mib > 0) return point.batch.value();
    const int64_t enough = point.device == DeviceKind::cuda ? kEnoughPixelsOnGpu : kEnoughPixels;
    return std::max(point.batch.value(), enough / plan::tile_grid(point).window().pixels());
}

int64_t find_batch(const TrialBench& bench) {
    const int64_t most = most_windows(bench.point);
    if (!bench.options.device.is_cuda()) return batch_on_cpu(bench.point, most);
    if (!is_worth_a_search(most)) return 1;
    return find_batch(most, [&](int64_t batch) { return try_batch(bench, batch); });
}

int64_t find_batch(int64_t most, const TryBatch& try_one) {
    int64_t best = 1;
    double best_rate = 0;
    SearchBudget budget(most);
    for (int64_t batch = 1;; batch *= 2) {
        const BatchTrial trial = try_one(std::min(batch, most));
        if (!trial.fits && batch == 1) throw PointFailed(trial.status, trial.reason);  // the point fails
        if (!trial.fits) return best;
        const bool worthwhile = trial.pixels_per_s > best_rate * kWorthwhileGain;
        if (worthwhile) best = std::min(batch, most);
        best_rate = std::max(best_rate, trial.pixels_per_s);
        budget.spend(trial.call_s, std::min(batch, most));
        if (!worthwhile || batch >= most || !budget.allows(std::min(2 * batch, most))) return best;
    }
}

int64_t TypicalHalos::find(const plan::Point& point, const engine::Weights& weights,
                           const MakeReference& make_reference) {
    const plan::Point scene = scene_point(point);
    const std::string question = question_of(scene, weights);
    if (const auto known = known_.find(question); known != known_.end()) return known->second;
    std::optional<int64_t> halo = halo_in(cache_.find(question), point.facts().alignment, reach_of(weights).halo);
    if (!halo) {
        ImageSource source(scene.settings.image);
        halo = search_halo(scene, *make_reference(scene, source), kSceneCaution);
        cache_.keep(question, std::to_string(*halo));
    }
    return known_[question] = *halo;
}

}  // namespace pb::run
