#include "run/point/bounds.hpp"

#include "device/copy_rates.hpp"
#include "engine/compute_rates.hpp"
#include "engine/memory.hpp"
#include "run/agreement.hpp"
#include "run/point/gather_records.hpp"

#include <fmt/format.h>

#include <functional>

namespace pb {

namespace {

constexpr double kComputeBudgetS = 0.3;
constexpr double kCopyBudgetS = 0.2;

class BoundsBench {
  public:
    BoundsBench(Team& team, const EngineOptions& options) : team_(team), options_(options) {}

    BoundsRecord run() {
        const DeviceId device = team_.place.device;
        if (options_.engine == EngineKind::torch) {
            measure(Bound::matmul_tflops, [&] { return matmul_tflops(options_, kComputeBudgetS); });
            measure(Bound::conv_tflops, [&] { return conv_tflops(options_, kComputeBudgetS); });
        }
        measure(Bound::host_copy_gb_per_s, [] { return host_copy_gb_per_s(1, kCopyBudgetS); });
        if (device.is_cuda()) {
            measure(Bound::device_copy_gb_per_s, [&] { return device_copy_gb_per_s(device, kCopyBudgetS); });
            measure(Bound::h2d_gb_per_s, [&] { return h2d_gb_per_s(device, kCopyBudgetS); });
            measure(Bound::d2h_gb_per_s, [&] { return d2h_gb_per_s(device, kCopyBudgetS); });
        } else {
            measure(Bound::device_copy_gb_per_s, [&] { return host_copy_gb_per_s(options_.threads, kCopyBudgetS); });
        }
        return found_;
    }

  private:
    /// Measures one bound on all ranks at the same time. A rank whose attempt fails, for example for lack of memory,
    /// has no value for it. The measurement must leave no memory on the device: it would count in every later point.
    void measure(Bound bound, const std::function<double()>& rate) {
        team_.ranks.barrier();
        const int64_t held = allocator_counters(team_.place.device).allocated_bytes;
        (void)attempt([&] { found_[bound] = rate(); });
        empty_allocator_cache(team_.place.device);
        together(team_.ranks, [&] {
            const int64_t left = allocator_counters(team_.place.device).allocated_bytes - held;
            require(left == 0, fmt::format("measuring the bound {} left {} bytes in the engine's allocator",
                                           name_of(bound), left));
        });
    }

    Team& team_;
    const EngineOptions& options_;
    BoundsRecord found_;
};

}  // namespace

void BoundsCache::add_to(PointTrace& trace, Team& team, const EngineOptions& options) {
    const Key key(&team, options.engine, options.precision, trace.point.settings.threads.count);
    auto found = known_.find(key);
    if (found == known_.end()) {
        empty_allocator_cache(team.place.device);
        const BoundsRecord mine = BoundsBench(team, options).run();
        found = known_.emplace(key, gather_records(*team.reduction, mine)).first;
    }
    for (size_t rank = 0; rank < trace.ranks.size(); ++rank) trace.ranks[rank].bounds = found->second.at(rank);
}

}  // namespace pb
