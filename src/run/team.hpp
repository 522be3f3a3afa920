// The ranks that take part in a point: the first n of those that were started.
#pragma once

#include "patchbench/comm/communicator.hpp"
#include "patchbench/comm/metric_reduction.hpp"
#include "patchbench/config/settings.hpp"
#include "patchbench/device/telemetry.hpp"
#include "patchbench/plan/topology.hpp"

#include <map>
#include <memory>
#include <vector>

namespace pb {

struct Team {
    Communicator ranks;              // null on ranks that do not take part
    Communicator node;               // those of them that share this host's memory
    std::vector<int> ranks_on_node;  // by number in `ranks`
    std::unique_ptr<MetricReduction> reduction;
    std::unique_ptr<Telemetry> telemetry;
    bool shares_device = false;  // two of them use one GPU
    RankPlace place;             // this rank's
    std::string name;            // "rank 1@node7"

    [[nodiscard]] bool takes_part() const { return !ranks.is_null(); }
    [[nodiscard]] bool is_root() const { return takes_part() && ranks.is_root(); }
};

/// Teams by size and device kind, made when first asked for: bringing NCCL up costs more than a point.
class Teams {
  public:
    Teams(const Communicator& world, const Topology& topology, const StudySettings& study)
        : world_(world), topology_(topology), study_(study) {}
    /// Collective over the world.
    [[nodiscard]] Team& of(int num_ranks, DeviceKind device);
    [[nodiscard]] const Topology& topology() const { return topology_; }
    [[nodiscard]] const Communicator& world() const { return world_; }

  private:
    const Communicator& world_;
    const Topology& topology_;
    const StudySettings& study_;
    std::map<std::pair<int, DeviceKind>, Team> teams_;
};

}  // namespace pb
