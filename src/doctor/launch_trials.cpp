// Trials of a launch: the speed of its links, and figures gathered through NCCL and through MPI.
#include "comm/metric_reduction.hpp"
#include "comm/ping_pong.hpp"
#include "doctor/launch_facts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace pb::doctor {

namespace {

/// Figures in which a mix-up of ranks or a loss of precision shows: different on each rank, not exact in fp32.
std::array<double, 6> trial_figures(int rank) {
    const double own = rank + 1;
    return {own / 3, -own, 1e300 / own, own * std::numeric_limits<double>::denorm_min(), 0.1 + own * 1e-12, -0.0};
}

bool same_bits(const std::vector<double>& one, const std::vector<double>& other) {
    return std::ranges::equal(
        one, other, [](double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); });
}

bool has_gpu_of_its_own(const plan::Topology& topology) {
    const auto is_cuda = [](const plan::RankPlace& place) { return place.device.is_cuda(); };
    return std::ranges::all_of(topology.ranks, is_cuda) && shared_devices(topology).empty();
}

bool same_numbers(const comm::Communicator& world, comm::MetricReduction& one, comm::MetricReduction& other) {
    const auto figures = trial_figures(world.rank());
    const auto rows = one.all_gather(figures);
    const auto other_rows = other.all_gather(figures);
    const auto largest = one.max(figures);  // on all ranks even when the rows differ, since it is collective
    const auto other_largest = other.max(figures);
    const bool same = std::ranges::equal(rows, other_rows, same_bits) && same_bits(largest, other_largest);
    return world.min(same ? 1 : 0) == 1;
}

}  // namespace

std::vector<LinkSpeed> measure_links(const comm::Communicator& world, const plan::Topology& topology) {
    std::vector<LinkSpeed> links;
    for (const auto& [from, to] : links_to_measure(topology)) {
        const comm::PingPong speed = comm::ping_pong(world, from, to);
        links.push_back({from, to, speed.bytes_per_s, speed.latency_s});
    }
    return links;
}

ReductionTrial try_reductions(const comm::Communicator& world, const plan::Topology& topology, double timeout_s) {
    const DeviceId device = topology.place_of(world.rank()).device;
    const auto mpi = comm::make_metric_reduction(world, ReductionKind::mpi, device, true, timeout_s);
    if (!has_gpu_of_its_own(topology)) {
        (void)mpi->all_gather(trial_figures(world.rank()));
        return {"MPI (NCCL needs a GPU of its own for each rank)", {}};
    }
    try {
        const auto nccl = comm::make_metric_reduction(world, ReductionKind::nccl, device, true, timeout_s);
        if (same_numbers(world, *nccl, *mpi)) return {"NCCL and MPI, the same numbers", {}};
        return {"NCCL and MPI, DIFFERENT numbers",
                {{Severity::wrong, "NCCL and MPI gather different numbers",
                  "trust neither: look at NCCL_* variables, driver and network, and run with NCCL_DEBUG=INFO"}}};
    } catch (const comm::RanksMissing&) {
        throw;
    } catch (const Error& error) {
        return {"MPI (NCCL failed)",
                {{Severity::wrong, std::string("NCCL does not come up: ") + error.what(),
                  "run with NCCL_DEBUG=INFO; NCCL_SOCKET_IFNAME and NCCL_IB_HCA name the network between nodes"}}};
    }
}

}  // namespace pb::doctor
