#include "run/point/typical_halo.hpp"

#include "base/noise_level.hpp"
#include "run/point/settle.hpp"
#include "run/verify/reach.hpp"

#include <fmt/format.h>

#include <charconv>

namespace pb::run {

namespace {

constexpr int64_t kScenePatch = 128;  // about: three patches along each axis meet at four corners
constexpr int64_t kScenePatches = 3;
/// Share of the tolerance that the error may take: half of that of a search on the image itself.
constexpr double kSceneCaution = 0.25;

/// The next power of 0.8 from `sigma` on upwards.
double rounded_up(double sigma) {
    constexpr double kStep = 0.8;
    double level = 1;
    while (level * kStep >= sigma && level * kStep >= kSmallestSigma) level *= kStep;
    return level;
}

/// A point for the same network and noise level, on the scene.
plan::Point scene_point(const plan::Point& point) {
    plan::Point scene = point;
    const double sigma = rounded_up(point.sigma);
    const int64_t alignment = point.facts().alignment;
    scene.sigma = sigma;
    scene.settings.patch = (kScenePatch + alignment - 1) / alignment * alignment;
    scene.settings.image = {};
    scene.settings.image.height = scene.settings.image.width = kScenePatches * scene.settings.patch;
    scene.settings.image.channels = point.source.channels;
    scene.settings.image.noise_sigma = sigma;
    scene.source = {{scene.settings.image.height, scene.settings.image.width}, point.source.channels};
    return scene;
}

/// Everything that the answer depends on.
std::string question_of(const plan::Point& scene, const engine::Weights& weights) {
    constexpr int kMethod = 1;  // to be raised when the search changes
    return fmt::format("halo-{}-{}-sigma-{:.6g}-trained-{:.6g}-tolerance-{:.6g}-{}", weights.sha256, weights.channels(),
                       scene.sigma, weights.trained_sigma.value_or(0), scene.settings.halo_tolerance, kMethod);
}

std::optional<int64_t> halo_in(const std::optional<std::string>& answer, int64_t alignment, int64_t most) {
    int64_t halo = -1;
    if (!answer) return std::nullopt;
    const char* const end = answer->data() + answer->size();
    const auto [stop, error] = std::from_chars(answer->data(), end, halo);
    const bool fits = error == std::errc() && stop == end && halo >= 0 && halo <= most && halo % alignment == 0;
    return fits ? std::optional(halo) : std::nullopt;
}

}  // namespace

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
