#include "run/team.hpp"

#include <algorithm>

namespace pb {

namespace {

constexpr double kBringUpTimeoutS = 60;

bool shares(const Topology& topology, int rank, int num_ranks) {
    for (const auto& group : shared_devices(topology)) {
        const auto in_team = std::count_if(group.begin(), group.end(), [&](int member) { return member < num_ranks; });
        if (in_team > 1 && std::find(group.begin(), group.end(), rank) != group.end()) return true;
    }
    return false;
}

std::unique_ptr<Telemetry> open_telemetry(const Team& team) {
    TelemetryOptions options = usual_telemetry_options();
    if (team.place.device.is_cuda()) {
        options.device_uuid = team.place.device_uuid;
        options.pci_bus_id = team.place.pci_bus_id;
    }
    options.num_cores = team.place.threads;
    options.shares_device = team.shares_device;
    options.first_on_node = team.node.is_root();
    return std::make_unique<Telemetry>(options);
}

Team make_team(const Communicator& world, const Topology& topology, const StudySettings& study, int num_ranks,
               DeviceKind device) {
    Team team;
    team.place = topology.ranks.at(static_cast<size_t>(world.rank()));
    if (device == DeviceKind::cpu) team.place.device = {};
    team.name = "rank " + std::to_string(world.rank()) + "@" + team.place.host;
    team.ranks = world.split(world.rank() < num_ranks ? 0 : -1, world.rank());
    if (!team.takes_part()) return team;
    team.node = team.ranks.node();
    for (int rank = 0; rank < num_ranks; ++rank)
        if (topology.ranks[static_cast<size_t>(rank)].node == team.place.node) team.ranks_on_node.push_back(rank);
    const bool shared = device == DeviceKind::cuda && shares(topology, world.rank(), num_ranks);
    team.shares_device = team.ranks.max(shared ? 1 : 0) > 0;
    team.reduction = make_metric_reduction(team.ranks, study.reduction, team.place.device, !shared, kBringUpTimeoutS);
    team.telemetry = open_telemetry(team);
    return team;
}

}  // namespace

Team& Teams::of(int num_ranks, DeviceKind device) {
    const std::pair key(num_ranks, device);
    const auto found = teams_.find(key);
    if (found != teams_.end()) return found->second;
    return teams_.emplace(key, make_team(world_, topology_, study_, num_ranks, device)).first->second;
}

}  // namespace pb
