#include "app/terminal.hpp"
#include "app/tune/tune.hpp"
#include "base/stopwatch.hpp"
#include "base/text.hpp"
#include "comm/interruption.hpp"
#include "config/settings_access.hpp"
#include "measure/tuning.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"
#include "run/pixels/image_source.hpp"
#include "run/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

namespace pb::app {

namespace {

/// Settings that the candidates differ in, sent from the root to all ranks.
constexpr const char* kSearchedKeys[] = {"engine", "dtype", "patch", "halo", "batch", "ranks", "workload"};

config::StudySettings quick_study() {
    config::StudySettings study;
    study.name = "tune";
    study.bounds = false;
    study.save_images = false;
    study.previews = 0;
    return study;
}

/// A second at most of repetitions, and one window that is computed again.
config::ProtocolSettings quick_protocol() {
    return {.warmup_reps = 1,
            .min_reps = 1,
            .max_reps = 3,
            .max_time_s = 1,
            .remeasure = 0,
            .forward_calls = 0,
            .verify_probes = 1,
            .verify_time_share = 0,
            .timeline = 0};
}

std::string text_of(const config::PointSettings& settings) {
    std::string text;
    for (const char* key : kSearchedKeys) text += std::string(key) + "=" + config::text_by_key(settings, key) + "\n";
    return text;
}

config::PointSettings with_text(config::PointSettings settings, const std::string& text) {
    for (const std::string_view line : split(text, "\n")) {
        const size_t equals = line.find('=');
        config::set_by_key(settings, line.substr(0, equals), line.substr(equals + 1));
    }
    return settings;
}

/// The whole crop in fp32 by the independent engine, outside any limit: what PSNR is compared with.
config::PointSettings reference_of(config::PointSettings settings) {
    settings.engine = EngineKind::torch;
    settings.dtype = Precision::fp32;
    settings.workload = config::Workload::whole;
    settings.memory_limit_mib = 0;
    settings.protocol.warmup_reps = 0;
    settings.protocol.max_reps = 1;
    settings.protocol.verify = config::VerifyMode::off;
    return settings;
}

std::string kind_of_trial(const config::PointSettings& settings) {
    return fmt::format("{} {} {}", name_of(EngineKind{settings.engine}), name_of(settings.dtype),
                       name_of(settings.workload));
}

class Search {
  public:
    Search(const TuneTask& task, const comm::Communicator& world, const plan::Topology& topology)
        : task_(task), world_(world), topology_(topology), runner_(world, topology, study_), base_(task.settings) {
        runner_.bound_searches(task.cache);
        base_.protocol = quick_protocol();
        comm::interrupt_after(task.max_time_s);
    }

    TuneResult run() {
        plan::Point whole = plan_point(base_, std::nullopt);
        const std::string& image = base_.image.path;
        run::require_same_files(world_, facts_ ? run::describe_source(image, *facts_) : "", {image});
        result_.image = whole.source.extent;
        find_halo(whole);
        run::together(world_, [&] {
            if (world_.is_root()) make_trials(whole);
        });
        for (const int64_t edge : measure::tuning_edges(result_.image))
            if (is_over_ || !run_round(edge)) break;
        for (measure::TuningTrial& trial : result_.trials)
            if (trial.is_in() && trial.edge == 0) trial.dropped = "not reached";
        result_.seconds = watch_.seconds();
        return std::move(result_);
    }

  private:
    [[nodiscard]] int64_t pixels_of(int64_t edge) const { return measure::tuning_crop(result_.image, edge).pixels(); }

    /// Plans a point on the centre of the image, `edge` pixels a side at most; none: on all of it. Collective.
    plan::Point plan_point(const config::PointSettings& settings, std::optional<int64_t> edge) {
        plan::Point point;
        run::together(world_, [&] { point = plan_here(settings, edge); });
        return point;
    }

    plan::Point plan_here(config::PointSettings settings, std::optional<int64_t> edge) {
        if (edge) {
            const Extent crop = measure::tuning_crop(result_.image, *edge);
            settings.image.crop_height = crop.h;
            settings.image.crop_width = crop.w;
        }
        const auto facts_of = [&](const config::ImageSettings& image) {
            if (!facts_) facts_ = run::source_facts(image);
            return *facts_;
        };
        return plan::make_plan({study_, {std::move(settings)}, ""}, topology_, facts_of, runner_.network_lookup())
            .points.front();
    }

    /// Measures a point on a crop, and remembers how long that took. Collective.
    record::PointTrace measure_on(const config::PointSettings& settings, int64_t edge) {
        const Stopwatch watch;
        record::PointTrace trace = run_on(settings, edge);
        times_.add(kind_of_trial(settings), pixels_of(edge), watch.seconds());
        if (result_.foreign.empty()) result_.foreign = record::foreign_work_of(trace.ranks);
        return trace;
    }

    record::PointTrace run_on(const config::PointSettings& settings, int64_t edge) {
        record::PointTrace trace = runner_.run(plan_point(settings, edge), {});
        const auto interruption = runner_.find_interruption();
        is_over_ = interruption.has_value();
        if (interruption && comm::seconds_until_interruption().value_or(0) > 0) result_.signal = *interruption;
        return trace;
    }

    /// Settles the halo of `point` as `halo: auto` would that searches for one, by a point of its own. Collective.
    void find_halo(plan::Point& point) {
        config::PointSettings settings = base_;
        settings.engine = EngineKind::torch;
        settings.layout = Layout::contiguous;  // in which nothing carries rows instead of searching
        settings.halo = {config::HaloSetting::Kind::automatic, 0};
        settings.batch = {1, false};
        settings.patch = kHaloPatch;
        settings.memory_limit_mib = 0;
        settings.protocol.warmup_reps = 0;
        settings.protocol.verify = config::VerifyMode::off;
        const record::PointTrace trace = run_on(settings, measure::tuning_edges(result_.image).front());
        point.halo = trace.point.halo;
    }

    void make_trials(const plan::Point& whole) {
        result_.trials = make_candidates(whole, [&](const auto& settings) { return plan_here(settings, {}); });
        measure::drop_by_arithmetic(result_.trials, task_.limits);
        if (std::ranges::any_of(result_.trials, &measure::TuningTrial::is_in)) return;
        const std::string why = measure::why_nothing_fits(result_.trials, task_.limits);
        if (!why.empty()) throw UsageError(why + "; raise --memory-limit-mib");
    }

    /// The root's answer on all ranks, because their clocks differ.
    [[nodiscard]] bool has_time(const config::PointSettings& settings, int64_t edge) {
        const double left = task_.max_time_s - watch_.seconds();
        const bool fits = times_.predict(kind_of_trial(settings), pixels_of(edge)) <= left;
        return run::from_root(world_, fits);
    }

    /// PSNR of the crop as a whole in fp32; known to the root. None: it could not be computed. Collective.
    std::optional<double> measure_reference(int64_t edge) {
        const config::PointSettings settings = reference_of(base_);
        if (!has_time(settings, edge)) return std::nullopt;
        const record::PointTrace trace = measure_on(settings, edge);
        if (is_over_ || trace.status != record::PointStatus::ok) return std::nullopt;
        return trace.quality ? trace.quality->psnr_denoised_db : 0;
    }

    /// Measures the candidates that are due on one crop. Returns false when the search is over. Collective.
    bool run_round(int64_t edge) {
        const std::vector<size_t> due = measure::entrants(result_.trials, edge);
        const auto num_due = run::from_root(world_, due.size());
        if (num_due == 0) return true;
        const std::optional<double> reference_db = measure_reference(edge);
        if (!reference_db) return false;
        const Extent crop = measure::tuning_crop(result_.image, edge);
        if (world_.is_root())
            print_text(stderr, "patchbench: {} candidates on {} x {} pixels\n", num_due, crop.h, crop.w);
        for (size_t next = 0; next < num_due && !is_over_; ++next) {
            measure::TuningTrial none;
            measure::TuningTrial& trial = world_.is_root() ? result_.trials[due[next]] : none;
            const config::PointSettings settings =
                with_text(base_, world_.broadcast(world_.is_root() ? text_of(trial.candidate.settings) : ""));
            if (!has_time(settings, edge)) continue;
            const record::PointTrace trace = measure_on(settings, edge);
            if (world_.is_root() && !is_over_) measure::take_result(trial, edge, trace, *reference_db, task_.limits);
        }
        measure::halve(result_.trials, edge);
        return true;
    }

    static constexpr int64_t kHaloPatch = 128;

    const TuneTask& task_;
    const comm::Communicator& world_;
    const plan::Topology& topology_;
    const config::StudySettings study_ = quick_study();
    run::Runner runner_;
    config::PointSettings base_;
    std::optional<plan::SourceFacts> facts_;
    measure::TuningTimes times_;
    Stopwatch watch_;
    bool is_over_ = false;  // interrupted, or out of time
    TuneResult result_;
};

}  // namespace

TuneResult search(const TuneTask& task, const comm::Communicator& world, const plan::Topology& topology) {
    return Search(task, world, topology).run();
}

}  // namespace pb::app
