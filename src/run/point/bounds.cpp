#include "run/point/bounds.hpp"

#include "device/best_rates.hpp"
#include "engine/memory.hpp"
#include "engine/torch_library.hpp"
#include "run/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace pb::run {

namespace {

constexpr double kComputeBudgetS = 0.3;
constexpr double kCopyBudgetS = 0.2;

record::BoundsRecord measure_bounds(const Team& team, const engine::EngineOptions& options) {
    const DeviceId device = team.place.device;
    record::BoundsRecord found;
    // Measures one bound on all ranks at the same time. A rank whose attempt fails, for example for lack of memory, has
    // no value for it. The measurement must leave no memory on the device: it would count in every later point.
    const auto measure = [&](record::Bound bound, const std::function<double()>& rate) {
        team.ranks.barrier();
        const int64_t held = engine::allocator_counters(device).allocated_bytes;
        (void)attempt([&] { found[bound] = rate(); });
        engine::empty_allocator_cache(device);
        together(team.ranks, [&] {
            const int64_t left = engine::allocator_counters(device).allocated_bytes - held;
            require(left == 0, fmt::format("measuring the bound {} left {} bytes in the engine's allocator",
                                           name_of(bound), left));
        });
    };
    if (options.engine == EngineKind::torch || options.engine == EngineKind::native)
        measure(record::Bound::matmul_tflops,
                [&] { return engine::torch_library().matmul_tflops(options, kComputeBudgetS); });
    if (options.engine == EngineKind::torch)
        measure(record::Bound::conv_tflops,
                [&] { return engine::torch_library().conv_tflops(options, kComputeBudgetS); });
    measure(record::Bound::host_copy_gb_per_s, [] { return device::host_copy_gb_per_s(1, kCopyBudgetS); });
    if (device.is_cuda()) {
        measure(record::Bound::device_copy_gb_per_s,
                [&] { return device::device_copy_gb_per_s(device, kCopyBudgetS); });
        measure(record::Bound::h2d_gb_per_s, [&] { return device::h2d_gb_per_s(device, kCopyBudgetS); });
        measure(record::Bound::d2h_gb_per_s, [&] { return device::d2h_gb_per_s(device, kCopyBudgetS); });
    } else {
        measure(record::Bound::device_copy_gb_per_s,
                [&] { return device::host_copy_gb_per_s(options.threads, kCopyBudgetS); });
    }
    return found;
}

constexpr size_t kMostNodes = 4;

comm::PingPong fastest_link(const Team& team) {
    comm::PingPong fastest;
    for (size_t i = 0; i < std::min(kMostNodes, team.first_elsewhere.size()); ++i) {
        const comm::PingPong speed = comm::ping_pong(team.ranks, 0, team.first_elsewhere[i]);
        if (speed.bytes_per_s > fastest.bytes_per_s) fastest = speed;
    }
    return fastest;
}

}  // namespace

void BoundsCache::add_to(record::PointTrace& trace, Team& team, const engine::EngineOptions& options) {
    const Key key(&team, options.engine, options.precision, trace.point.settings.threads.count);
    auto found = known_.find(key);
    if (found == known_.end()) {
        engine::empty_allocator_cache(team.place.device);
        const record::BoundsRecord mine = measure_bounds(team, options);
        found = known_.emplace(key, gather_records(*team.reduction, mine)).first;
    }
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) trace.ranks[rank].bounds = found->second.at(rank);
}

void BoundsCache::add_link_to(record::PointTrace& trace, const Team& team) {
    if (!trace.exchange) return;
    auto found = links_.find(&team);
    if (found == links_.end()) found = links_.emplace(&team, fastest_link(team)).first;
    trace.exchange->link_bytes_per_s = found->second.bytes_per_s;
    trace.exchange->link_latency_s = found->second.latency_s;
}

}  // namespace pb::run
