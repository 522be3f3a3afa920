#include "app/tune/tune.hpp"
#include "engine/network_file.hpp"
#include "plan/prediction.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace pb::app {

namespace {

using Families = std::vector<std::pair<EngineKind, Precision>>;

Families families_for(const plan::Point& point) {
    if (point.device == DeviceKind::cuda)
        return {{EngineKind::torch, Precision::fp32},
                {EngineKind::torch, Precision::tf32},
                {EngineKind::torch, Precision::fp16},
                {EngineKind::torch, Precision::bf16}};
    Families families{{EngineKind::native, Precision::fp32},
                      {EngineKind::torch, Precision::fp32},
                      {EngineKind::torch, Precision::bf16}};
    if (point.multiplies_bf16) families.insert(families.begin() + 1, {EngineKind::native, Precision::bf16});
    for (const EngineKind engine : {EngineKind::onnxruntime, EngineKind::openvino})
        if (engine::is_installed(engine)) families.emplace_back(engine, Precision::fp32);
    return families;
}

/// Rows of carried bands. A GPU needs more pixels at once.
std::vector<int64_t> bands_for(DeviceKind device) {
    return device == DeviceKind::cuda ? std::vector<int64_t>{128, 512} : std::vector<int64_t>{64, 128};
}

/// On a CPU batching gains almost nothing.
std::vector<int64_t> batches_for(DeviceKind device) {
    return device == DeviceKind::cuda ? std::vector<int64_t>{1, 4, 16} : std::vector<int64_t>{1, 4};
}

class Candidates {
  public:
    Candidates(const plan::Point& base, const PlanWhole& plan_whole)
        : base_(base), plan_whole_(plan_whole), last_edge_(measure::tuning_edges(base.source.extent).back()) {
        const int64_t exact = base.facts().exact_halo;
        halos_.push_back(base.halo.value_or(exact));
        if (halos_.front() != exact) halos_.push_back(exact);
    }

    measure::TuningTrials make() {
        for (const auto& [engine, dtype] : families_for(base_)) {
            config::PointSettings settings = base_.settings;
            settings.engine = engine;
            settings.dtype = dtype;
            add_carried(settings);
            for (const int64_t patch : kPatches) {
                settings.patch = patch;
                add_patch(settings);
                if (covers_image(patch)) break;
            }
        }
        return std::move(trials_);
    }

  private:
    static constexpr std::array<int64_t, 4> kPatches{128, 256, 512, 1024};

    /// Carried rows, which are exact, where the engine has them; and the thinnest bands with fewer ranks, which may be
    /// faster where ranks share a core or the memory's bandwidth. Other ways to cut the image do not repeat that.
    void add_carried(config::PointSettings settings) {
        settings.halo = {config::HaloSetting::Kind::carried, 0};
        settings.batch = {1, false};
        const std::vector<int64_t> bands = bands_for(base_.device);
        for (const int64_t band : bands) {
            settings.patch = band;
            if (std::isinf(peak_mib(settings, 0))) return;
            add(settings);
        }
        settings.patch = bands.front();
        for (int ranks = base_.num_ranks / 2; ranks >= 1; ranks /= 2) {
            settings.ranks.count = ranks;
            add(settings);
        }
    }

    /// Predicted for the whole image on one rank; 0: unknown, infinity: the plan refuses the point. Limit 0: none.
    [[nodiscard]] double peak_mib(config::PointSettings settings, int64_t limit_mib) const {
        settings.memory_limit_mib = limit_mib;
        try {
            const plan::Point point = plan_whole_(settings);
            const auto prediction = plan::predict(point);
            return prediction ? prediction->peak_mib : 0;
        } catch (const UsageError&) {
            return std::numeric_limits<double>::infinity();
        }
    }

    /// The smallest memory limit that the settings fit into, where that is more than their own. Limits are tried,
    /// because a plan depends on its limit (strips, small tiles of Winograd's method).
    [[nodiscard]] std::optional<int64_t> larger_limit_mib(const config::PointSettings& settings) const {
        const auto fits = [&](int64_t limit) { return peak_mib(settings, limit) <= static_cast<double>(limit); };
        int64_t short_of = settings.memory_limit_mib;
        if (short_of == 0 || fits(short_of)) return std::nullopt;
        const double unlimited = peak_mib(settings, 0);
        if (std::isinf(unlimited)) return std::nullopt;
        int64_t enough = std::max(short_of + 1, 2 * static_cast<int64_t>(std::ceil(unlimited)));
        while (enough - short_of > 1) {
            const int64_t middle = short_of + (enough - short_of) / 2;
            (fits(middle) ? enough : short_of) = middle;
        }
        return enough;
    }

    [[nodiscard]] bool covers_image(int64_t patch) const {
        return patch >= std::max(base_.source.extent.h, base_.source.extent.w);
    }

    /// One window for the whole image has neither halo nor batch. Its halo is for other images: the exact one.
    void add_patch(config::PointSettings settings) {
        for (const int64_t halo : covers_image(settings.patch) ? std::vector{halos_.back()} : halos_)
            for (const int64_t batch : batches_for(base_.device)) {
                settings.halo = {config::HaloSetting::Kind::pixels, halo};
                settings.batch = {batch, false};
                add(settings);
                if (covers_image(settings.patch)) return;
            }
    }

    /// Leaves out more patches at once than the image has, except for the smallest patch alone.
    void add(const config::PointSettings& settings) {
        measure::TuningTrial trial{.candidate = {.settings = settings}};
        try {
            const plan::Point point = plan_whole_(settings);
            const int64_t wanted = settings.batch.count * point.num_ranks;
            const bool is_least = settings.patch == kPatches.front() && settings.batch.count == 1;
            if (wanted > plan::tile_grid(point).num_windows() && !is_least) return;
            trial.candidate.least_edge =
                measure::least_edge(settings.patch, settings.batch.count, point.num_ranks, last_edge_);
            trial.candidate.computed_pixels = plan::computed_pixels(point);
            const auto prediction = plan::predict(point);
            if (prediction) trial.candidate.peak_mib = prediction->peak_mib;
        } catch (const UsageError& error) {
            trial.dropped = error.what();
        }
        if (const auto limit = larger_limit_mib(settings)) {
            trial.candidate.peak_mib = static_cast<double>(*limit);
            trial.dropped.clear();
        }
        trials_.push_back(std::move(trial));
    }

    const plan::Point& base_;
    const PlanWhole& plan_whole_;
    int64_t last_edge_;
    std::vector<int64_t> halos_;
    measure::TuningTrials trials_;
};

}  // namespace

measure::TuningTrials make_candidates(const plan::Point& base, const PlanWhole& plan_whole) {
    return Candidates(base, plan_whole).make();
}

}  // namespace pb::app
