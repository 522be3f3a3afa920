// The ranks that take part in a point: all or some of the started ranks.
#pragma once

#include "base/mapped.hpp"
#include "comm/communicator.hpp"
#include "comm/metric_reduction.hpp"
#include "comm/rows/border_channel.hpp"
#include "comm/rows/transfer_channel.hpp"
#include "config/settings.hpp"
#include "device/telemetry/telemetry.hpp"
#include "plan/plan.hpp"
#include "record/row.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace pb::run {

struct Team {
    comm::Communicator ranks;          // null on ranks that do not take part
    comm::Communicator node;           // the members on this host, which share its memory
    std::vector<int> members;          // indexed by rank in `ranks`: rank among all started ranks
    std::vector<int> ranks_on_node;    // ranks in `ranks` that are on this node
    std::vector<int> root_node;        // ranks in `ranks` that share the root's memory
    std::vector<int> first_elsewhere;  // the first rank of each other node, as rank in `ranks`
    bool spans_nodes = false;
    std::unique_ptr<comm::MetricReduction> reduction;
    std::unique_ptr<comm::TransferChannel> channel;  // null on one node
    std::unique_ptr<comm::DeviceBorders> borders;    // null where border rows go by MPI, or none have gone yet
    std::unique_ptr<device::Telemetry> telemetry;
    bool shares_device = false;  // true: two members use one GPU
    plan::RankPlace place;       // place of this rank

    [[nodiscard]] bool takes_part() const { return !ranks.is_null(); }
    [[nodiscard]] bool is_root() const { return takes_part() && ranks.is_root(); }
    [[nodiscard]] bool shares_root_node(int rank) const {
        return std::ranges::find(root_node, rank) != root_node.end();
    }
};

/// Sets which members share a node, which share the root's memory, and which is first on its node.
void place_team(const plan::Topology& topology, Team& team);

/// Teams by size, placement and device kind. Each is created on first use, because initialising NCCL takes longer than
/// a point.
class Teams {
  public:
    Teams(const comm::Communicator& world, const plan::Topology& topology, const config::StudySettings& study)
        : world_(world), topology_(topology), study_(study) {}
    /// Returns the team of a point. Collective over the world.
    [[nodiscard]] Team& of(const plan::Point& point);
    [[nodiscard]] const plan::Topology& topology() const { return topology_; }
    [[nodiscard]] const comm::Communicator& world() const { return world_; }

  private:
    /// The team of a point, without what carries border rows.
    [[nodiscard]] Team& team_of(const plan::Point& point);

    const comm::Communicator& world_;
    const plan::Topology& topology_;
    const config::StudySettings& study_;
    using Key = std::tuple<int, config::Placement, DeviceKind>;
    std::map<Key, Team> teams_;
};

/// Collective. Returns each rank's record, in rank order. The rows of the reduction must be equally long, so shorter
/// ones are padded.
template <class Record>
[[nodiscard]] std::vector<Record> gather_records(comm::MetricReduction& reduction, const Record& mine) {
    std::vector<double> row = record::pack(mine);
    row.resize(static_cast<size_t>(reduction.max(std::array{static_cast<double>(row.size())}).front()));
    return mapped(reduction.all_gather(row), record::unpack<Record>);
}

}  // namespace pb::run
