#include "base/engine_support.hpp"
#include "comm/interruption.hpp"
#include "network/graph_facts.hpp"
#include "network/native_layout.hpp"
#include "plan/memory_limit.hpp"
#include "run/agreement.hpp"
#include "run/point/repetitions.hpp"
#include "run/point/team.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

struct StepSeconds {
    size_t first = 0, last = 0;  // the step's operations
    bool joins = false;
    double seconds = 0;  // of all calls
    double part = 1;     // of its map that it computes
};

template <class V, record::Like<StepSeconds> S>
void fields(V& v, S& step) {
    v("first", step.first);
    v("last", step.last);
    v("joins", step.joins);
    v("seconds", step.seconds);
    v("part", step.part);
}

/// The calls of one rank together.
struct RankCalls {
    int64_t windows = 0, pixels = 0;  // of one call
    double seconds = 0;
    std::vector<StepSeconds> steps;
};

template <class V, record::Like<RankCalls> R>
void fields(V& v, R& calls) {
    v("windows", calls.windows);
    v("pixels", calls.pixels);
    v("seconds", calls.seconds);
    v("steps", calls.steps);
}

void add(const ProfiledCall& call, RankCalls& sum) {
    sum.windows = call.windows;
    sum.pixels = call.pixels;
    sum.seconds += call.seconds;
    sum.steps.resize(call.steps.size());
    for (size_t i = 0; i < call.steps.size(); ++i) {
        const auto& [step, seconds, part] = call.steps[i];
        sum.steps[i] = {step.first, step.last, step.joins, sum.steps[i].seconds + seconds, part};
    }
}

/// The share of a step's FLOP that the engine executes.
double executed_share(const plan::Point& point, const network::Graph& graph, size_t operation) {
    const bool is_native = point.settings.engine == EngineKind::native;
    if (!is_native || !graph[operation].filter) return 1;
    return network::native_convolution(graph, operation, plan::winograd_form(point)).executed_share();
}

record::Profile profile_of(const RankCalls& calls, const plan::Point& point) {
    const network::Graph graph = point.graph();
    const auto num_calls = static_cast<double>(point.settings.protocol.profile);
    const auto value_bytes = static_cast<int64_t>(size_of(storage_of(point.settings.engine, point.settings.dtype)));
    record::Profile profile{
        .calls = point.settings.protocol.profile, .windows = calls.windows, .forward_s = calls.seconds / num_calls};
    profile.layers.reserve(calls.steps.size());
    for (const StepSeconds& step : calls.steps) {
        const network::StepCost cost = network::cost_of(graph, {step.first, step.last, step.joins});
        const auto pixels = static_cast<int64_t>(std::llround(step.part * static_cast<double>(calls.pixels)));
        profile.layers.push_back({.layer = cost.layer,
                                  .operation = cost.operation,
                                  .flop = cost.flop(pixels),
                                  .executed_flop = cost.flop(pixels) * executed_share(point, graph, step.first),
                                  .bytes = cost.bytes(pixels, value_bytes),
                                  .seconds = step.seconds / num_calls});
    }
    return profile;
}

}  // namespace

void profile_layers(const Team& team, Pipeline& pipeline, record::PointTrace& trace) {
    const plan::Point& point = trace.point;
    if (point.settings.protocol.profile == 0) return;
    RankCalls mine;
    together(team.ranks, [&] {
        for (int64_t call = 0; call < point.settings.protocol.profile; ++call) {
            comm::stop_if_interrupted();
            add(pipeline.profiled_call(), mine);
        }
    });
    const std::vector<RankCalls> all = gather_records(*team.reduction, mine);
    const auto slowest = std::ranges::max_element(all, {}, &RankCalls::seconds);
    if (slowest->steps.empty()) {
        trace.point.notes.push_back(fmt::format(
            "no profile: the engine {} on the device {} does not tell its layers apart; torch and native on the CPU do",
            name_of(EngineKind{point.settings.engine}), name_of(point.device)));
        return;
    }
    trace.profile = profile_of(*slowest, point);
    trace.profile->rank = team.members[static_cast<size_t>(slowest - all.begin())];
}

}  // namespace pb::run
