#include "run/point/team.hpp"

#include "plan/rows.hpp"

#include "patchbench/base/error.hpp"

#include <set>

namespace pb::run {

namespace {

constexpr double kBringUpTimeoutS = 60;

int position_of(const std::vector<int>& members, int rank) {
    const auto found = std::ranges::find(members, rank);
    return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

bool shares(const plan::Topology& topology, int rank, const std::vector<int>& members) {
    for (const auto& group : plan::shared_devices(topology)) {
        const auto in_team = std::ranges::count_if(group, [&](int each) { return position_of(members, each) >= 0; });
        if (in_team > 1 && position_of(group, rank) >= 0) return true;
    }
    return false;
}

std::unique_ptr<device::Telemetry> open_telemetry(const Team& team) {
    device::TelemetryOptions options = device::usual_telemetry_options();
    if (team.place.device.is_cuda()) {
        options.device_uuid = team.place.device_uuid;
        options.pci_bus_id = team.place.pci_bus_id;
    }
    options.num_cores = team.place.threads;
    options.shares_device = team.shares_device;
    options.first_on_node = team.node.is_root();
    return std::make_unique<device::Telemetry>(options);
}

/// The ranks that must send their output to the root, ascending.
std::vector<int> ranks_elsewhere(const Team& team) {
    std::vector<int> ranks;
    for (int rank = 0; rank < team.ranks.size(); ++rank)
        if (!team.shares_root_node(rank)) ranks.push_back(rank);
    return ranks;
}

Team make_team(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study,
               const plan::Point& point) {
    Team team;
    team.place = topology.ranks.at(static_cast<size_t>(world.rank()));
    if (point.device == DeviceKind::cpu) team.place.device = {};
    team.members = plan::members_of(topology, point.num_ranks, point.settings.placement);
    require(team.members.front() == 0, "rank 0 takes part in every point");
    const int position = position_of(team.members, world.rank());
    team.ranks = world.split(position >= 0 ? 0 : -1, position);
    if (!team.takes_part()) return team;
    team.node = team.ranks.split(team.place.node, position);
    place_team(topology, team);
    const bool shared = point.device == DeviceKind::cuda && shares(topology, world.rank(), team.members);
    team.shares_device = team.ranks.max(shared ? 1 : 0) > 0;
    team.reduction =
        comm::make_metric_reduction(team.ranks, study.reduction, team.place.device, !shared, kBringUpTimeoutS);
    if (team.spans_nodes)
        team.channel = comm::make_transfer_channel(team.ranks, ranks_elsewhere(team), study.exchange, team.place.device,
                                                   !shared, kBringUpTimeoutS);
    team.telemetry = open_telemetry(team);
    return team;
}

}  // namespace

void place_team(const plan::Topology& topology, Team& team) {
    const auto node_of = [&](int member) { return topology.place_of(member).node; };
    const int root_node = node_of(team.members.front());
    std::set<int> nodes{root_node};
    for (int rank = 0; rank < static_cast<int>(team.members.size()); ++rank) {
        const int node = node_of(team.members[static_cast<size_t>(rank)]);
        if (node == team.place.node) team.ranks_on_node.push_back(rank);
        if (node == root_node) team.root_node.push_back(rank);
        if (nodes.insert(node).second) team.first_elsewhere.push_back(rank);
    }
    team.spans_nodes = team.root_node.size() < team.members.size();
}

Team& Teams::of(const plan::Point& point) {
    Team& team = team_of(point);
    if (team.takes_part() && !team.borders && plan::is_exchanged(point) && team.ranks.size() > 1)
        team.borders = comm::make_device_borders(team.ranks, study_.exchange, team.place.device,
                                                 !shares(topology_, world_.rank(), team.members), kBringUpTimeoutS);
    return team;
}

Team& Teams::team_of(const plan::Point& point) {
    const Key key(point.num_ranks, point.settings.placement, point.device);
    const auto found = teams_.find(key);
    if (found != teams_.end()) return found->second;
    return teams_.emplace(key, make_team(world_, topology_, study_, point)).first->second;
}

}  // namespace pb::run
