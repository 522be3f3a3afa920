#include "run/point/repetitions.hpp"

#include "base/statistics.hpp"
#include "base/stopwatch.hpp"
#include "base/telemetry_record.hpp"
#include "comm/interruption.hpp"
#include "device/host_memory.hpp"
#include "engine/memory.hpp"
#include "run/agreement.hpp"
#include "run/pipeline/timeline.hpp"
#include "run/point/exchange.hpp"
#include "run/point/team.hpp"

#include <optional>

namespace pb::run {

namespace {

class Repetitions {
  public:
    Repetitions(Team& team, const plan::Topology& topology, Pipeline& pipeline, RankShare& share,
                record::PointTrace& trace, const engine::Denoiser* denoiser)
        : protocol_(trace.point.settings.protocol),
          team_(team),
          topology_(topology),
          pipeline_(pipeline),
          share_(share),
          trace_(trace),
          denoiser_(denoiser),
          process_(denoiser != nullptr ? denoiser->process_id() : 0),
          spans_(protocol_.timeline) {}

    void run() {
        warm_up();
        measure();
        while (must_repeat()) {
            discard();
            measure();
        }
        count_work();
        gather_ranks();
    }

  private:
    [[nodiscard]] DeviceId device() const { return team_.place.device; }

    void measure() {
        together(team_.ranks, [this] { start_counting(); });
        time_until_done();
        together(team_.ranks, [this] { stop_counting(); });
    }

    /// True when the repetitions drift and another measurement is allowed and has enough time. An interruption would
    /// lose the samples that exist.
    [[nodiscard]] bool must_repeat() const {
        const auto left_s = comm::seconds_until_interruption();
        const bool has_time =
            comm::interruption().empty() && (!left_s || *left_s > kTimeToSpare * (trace_.repeated_s + calls_s_));
        const bool may = !plan::is_simulated(trace_.point) && std::ssize(trace_.discarded) < protocol_.remeasure;
        const bool drifting = drifts(find_trend(trace_.wall_s), drift_limit(protocol_.rel_width));
        return decided_by_root(may && has_time && drifting ? 1 : 0) != 0;
    }

    /// Discards the samples and records why.
    void discard() {
        const auto records = gather_records(*team_.reduction, mine_.telemetry);
        std::vector<record::RankTrace> ranks(records.size());
        for (size_t rank = 0; rank < records.size(); ++rank) {
            ranks[rank].host = host_of(team_.members[rank]);
            ranks[rank].telemetry = records[rank];
        }
        trace_.discarded.push_back(
            {std::ssize(trace_.wall_s), median(trace_.wall_s), find_trend(trace_.wall_s).drift, disturbance_of(ranks)});
        trace_.wall_s.clear();
        trace_.stop_reason = StopReason::none;
        mine_ = {};
    }

    [[nodiscard]] const std::string& host_of(int rank) const { return topology_.place_of(rank).host; }

    /// Returns the root's value on all ranks, because their clocks differ.
    [[nodiscard]] double decided_by_root(double answer) const { return team_.ranks.broadcast(answer); }

    void warm_up() {
        const Stopwatch watch;
        for (int64_t done = 0;; ++done) {
            const bool enough = done >= protocol_.warmup_reps && watch.seconds() >= protocol_.warmup_time_s;
            if (decided_by_root(enough && !wants_another(done) ? 1 : 0) != 0) return;
            repeat(false);
        }
    }

    [[nodiscard]] bool has_warm_up() const { return protocol_.warmup_reps > 0 || protocol_.warmup_time_s > 0; }

    /// The timeline shows the last warm-up. The first pass differs from the others, so a second one is run if the first
    /// was short.
    [[nodiscard]] bool wants_another(int64_t done) const {
        return protocol_.timeline > 0 && has_warm_up() && done == 1 && last_pass_s_ < kShortPassS;
    }

    /// Without a warm-up the timed passes are recorded, and the last one is kept. This costs only a few writes to
    /// memory that is already allocated.
    [[nodiscard]] SpanLog* spans_of(bool timed) {
        if (protocol_.timeline == 0 || timed == has_warm_up()) return nullptr;
        spans_.clear();
        return &spans_;
    }

    /// Any repetition may be the last one, whose output is verified. The output is therefore poisoned before each
    /// repetition, which also gives all of them the same start.
    void time_until_done() {
        StoppingRule rule({.min_reps = protocol_.min_reps,
                           .max_reps = protocol_.max_reps,
                           .rel_width = protocol_.rel_width,
                           .max_time_s = protocol_.max_time_s});
        calls_s_ = 0;
        const Stopwatch watch;
        while (trace_.stop_reason == StopReason::none) {
            share_.poison_output(team_);
            repeat(true);
            if (team_.is_root()) rule.add(trace_.wall_s.back(), watch.seconds());
            const double reason = decided_by_root(static_cast<double>(rule.reason()));
            trace_.stop_reason = static_cast<StopReason>(static_cast<int>(reason));
        }
        trace_.repeated_s = watch.seconds() - calls_s_;
    }

    /// Counts the work of this rank: its fixed share, or that of the last pass.
    void count_work() {
        mine_.border_bytes = pipeline_.border_bytes();
        mine_.num_batches = static_cast<int64_t>(share_.batches().taken().size());
        mine_.work_per_call = share_.work().work_per_call(share_.batches().taken());
        for (const Range& run : share_.windows_done()) {
            mine_.num_windows += run.size();
            mine_.num_patches += share_.work().patches_in(run);
        }
    }

    void start_counting() {
        engine::reset_allocator_peaks(device());
        (void)device::reset_resident_peak();
        (void)device::reset_resident_peak_of(process_);
        telemetry_.emplace(*team_.telemetry);
        beside_cpu_before_s_ = device::cpu_seconds_of(process_);
    }

    void stop_counting() {
        mine_.telemetry = telemetry_->finish();
        if (auto& own_cpu_s = mine_.telemetry[Meter::own_cpu_s])
            *own_cpu_s += device::cpu_seconds_of(process_) - beside_cpu_before_s_;
        const auto counters = engine::allocator_counters(device());
        mine_.memory.allocated_peak = peak_allocated_bytes(pipeline_, device());
        mine_.memory.reserved_peak = counters.peak_reserved_bytes;
        mine_.memory.host_peak = device::resident_peak_bytes().value_or(0);
        const int64_t beside = device::own_resident_peak_bytes_of(process_);
        mine_.memory.allocated_peak += beside;
        mine_.memory.reserved_peak += beside;
        mine_.memory.engine_peak = process_ == 0 ? mine_.memory.host_peak : beside;
        mine_.memory.host_peak += beside;
        if (device().is_cuda()) {
            const auto memory = device::device_memory(device());
            mine_.memory.device_used = memory.total_bytes - memory.free_bytes;
        }
    }

    [[nodiscard]] double cpu_seconds() const {
        return device::process_cpu_seconds() + device::cpu_seconds_of(process_);
    }

    void repeat(bool timed) {
        PassLog log{{}, spans_of(timed)};
        if (telemetry_) telemetry_->pass_begins();
        const int64_t allocations_before = engine::allocator_counters(device()).num_allocations;
        share_.batches().begin_pass();
        team_.ranks.barrier();
        const double begin_s = monotonic_seconds(), cpu_before = cpu_seconds();
        const Attempt passed =
            attempt([&] { pipeline_.pass(share_.batches(), share_.windows(), share_.cores(), log); });
        const double own_end_s = monotonic_seconds();
        agree_on(team_.ranks, passed);  // also the barrier after which the root may read the node's slab
        const double exchange_begin_s = monotonic_seconds();  // waiting for a slower rank is not exchange
        const auto exchanged = exchange(trace_.point, team_, share_);
        const double end_s = monotonic_seconds(), cpu_s = cpu_seconds() - cpu_before;
        add(log, {record::Stage::exchange, -1, exchange_begin_s, end_s});
        if (exchanged) trace_.exchange = {.carrier = std::string(team_.channel->name()), .bytes = *exchanged};
        const double slowest_s = team_.reduction->max(std::array{end_s - begin_s}).front();
        last_pass_s_ = slowest_s;
        if (trace_.first_pass_s == 0) trace_.first_pass_s = slowest_s;
        if (log.spans != nullptr) logged_begin_s_ = begin_s;
        if (timed) {
            trace_.wall_s.push_back(slowest_s);
            mine_.wall_s.push_back(own_end_s - begin_s);
            mine_.stage_s.push_back(log.stages);
            mine_.cpu_s.push_back(cpu_s);
            if (device().is_cuda())
                mine_.allocations += engine::allocator_counters(device()).num_allocations - allocations_before;
        }
        if (telemetry_) telemetry_->pass_ends();
        const Stopwatch watch;
        together(team_.ranks, [&] { call_forward(timed); });
        if (timed) calls_s_ += watch.seconds();
    }

    void call_forward(bool timed) {
        for (int64_t call = 0; call < protocol_.forward_calls; ++call) {
            const double seconds = pipeline_.forward_call();
            if (timed) add_call(seconds);
        }
    }

    void add_call(double seconds) {
        const auto inner_s = denoiser_ != nullptr ? denoiser_->inner_call_s() : std::nullopt;
        mine_.forward_call_s.push_back(inner_s.value_or(seconds));
        if (inner_s) mine_.round_trip_s.push_back(seconds);
    }

    void gather_ranks() {
        mine_.rank = team_.members[static_cast<size_t>(team_.ranks.rank())];
        trace_.ranks = gather_records(*team_.reduction, mine_);
        for (auto& rank : trace_.ranks) rank.host = host_of(rank.rank);
        if (protocol_.timeline > 0) gather_timeline(team_, {spans_, logged_begin_s_, !has_warm_up()}, trace_.ranks);
        trace_.reduction = team_.reduction->name();
    }

    static constexpr double kShortPassS = 1;
    static constexpr double kTimeToSpare = 2;  // room for the verification that follows

    const config::ProtocolSettings& protocol_;
    Team& team_;
    const plan::Topology& topology_;
    Pipeline& pipeline_;
    RankShare& share_;
    record::PointTrace& trace_;
    const engine::Denoiser* denoiser_;
    int process_;  // that runs the network; 0: this one
    record::RankTrace mine_;
    std::optional<device::TelemetryWindow> telemetry_;  // open during the timed repetitions
    SpanLog spans_;
    double beside_cpu_before_s_ = 0;  // CPU time of the engine's process before the timed repetitions
    double logged_begin_s_ = 0;       // start of the pass in `spans_`
    double last_pass_s_ = 0;
    double calls_s_ = 0;  // of the forward calls alone between the timed repetitions
};

}  // namespace

void run_repetitions(Team& team, const plan::Topology& topology, Pipeline& pipeline, RankShare& share,
                     record::PointTrace& trace, const engine::Denoiser* denoiser) {
    Repetitions(team, topology, pipeline, share, trace, denoiser).run();
}

}  // namespace pb::run
