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
#include <utility>

namespace pb::engine {

template <class V, record::Like<StepTime> S>
void fields(V& v, S& time) {
    v("first", time.step.first);
    v("last", time.step.last);
    v("joins", time.step.joins);
    v("seconds", time.seconds);
    v("part", time.part);
}

}  // namespace pb::engine

namespace pb::run {

template <class V, record::Like<ProfiledCall> C>
void fields(V& v, C& call) {
    v("windows", call.windows);
    v("pixels", call.pixels);
    v("seconds", call.seconds);
    v("steps", call.steps);
}

namespace {

/// Adds the times of a call to those of the calls before, which had the same steps.
void add(ProfiledCall call, ProfiledCall& sum) {
    call.seconds += sum.seconds;
    for (size_t i = 0; i < sum.steps.size(); ++i) call.steps.at(i).seconds += sum.steps[i].seconds;
    sum = std::move(call);
}

/// The share of a step's FLOP that the engine executes.
double executed_share(const plan::Point& point, const network::Graph& graph, size_t operation) {
    const bool is_native = point.settings.engine == EngineKind::native;
    if (!is_native || !graph[operation].filter) return 1;
    return network::native_convolution(graph, operation, plan::winograd_form(point)).executed_share();
}

record::Profile profile_of(const ProfiledCall& calls, const plan::Point& point) {
    const network::Graph graph = point.graph();
    const auto num_calls = static_cast<double>(point.settings.protocol.profile);
    const auto value_bytes = static_cast<int64_t>(size_of(storage_of(point.settings.engine, point.settings.dtype)));
    record::Profile profile{
        .calls = point.settings.protocol.profile, .windows = calls.windows, .forward_s = calls.seconds / num_calls};
    profile.layers.reserve(calls.steps.size());
    for (const auto& [step, took_s, part] : calls.steps) {
        const network::StepCost cost = network::cost_of(graph, step);
        const auto pixels = static_cast<int64_t>(std::llround(part * static_cast<double>(calls.pixels)));
        profile.layers.push_back({.layer = cost.layer,
                                  .operation = cost.operation,
                                  .flop = cost.flop(pixels),
                                  .executed_flop = cost.flop(pixels) * executed_share(point, graph, step.first),
                                  .bytes = cost.bytes(pixels, value_bytes),
                                  .seconds = took_s / num_calls});
    }
    return profile;
}

}  // namespace

void profile_layers(const Team& team, Pipeline& pipeline, record::PointTrace& trace) {
    const plan::Point& point = trace.point;
    if (point.settings.protocol.profile == 0) return;
    ProfiledCall mine;
    together(team.ranks, [&] {
        for (int64_t call = 0; call < point.settings.protocol.profile; ++call) {
            comm::stop_if_interrupted();
            add(pipeline.profiled_call(), mine);
        }
    });
    const std::vector<ProfiledCall> all = gather_records(*team.reduction, mine);
    const auto slowest = std::ranges::max_element(all, {}, &ProfiledCall::seconds);
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
