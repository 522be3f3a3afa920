#include "plan/topology.hpp"

#include "small_points.hpp"

#include <gmock/gmock.h>

namespace pb::plan {
namespace {

using test::cuda_topology;
using testing::IsEmpty;

TEST(LocalTopology, IsOneHostOrNodesOfSoManyRanks) {
    EXPECT_EQ(make_local_topology(5).num_nodes(), 1);
    const Topology topology = make_local_topology(5, 2);
    EXPECT_EQ(topology.num_nodes(), 3);
    EXPECT_EQ(topology.ranks[3].host, "node1");
    EXPECT_EQ(topology.ranks[3].local_rank, 1);
    EXPECT_EQ(topology.ranks[4].local_rank, 0);
    EXPECT_EQ(topology.ranks[4].device_name, "CPU");
}

TEST(Topology, CountsNodesAndFindsSharedDevices) {
    Topology topology = cuda_topology(4);
    EXPECT_EQ(topology.num_nodes(), 1);
    EXPECT_THAT(shared_devices(topology), IsEmpty());
    topology.ranks[3].node = 1;
    topology.ranks[3].host = "other";
    topology.ranks[3].device_uuid = topology.ranks[0].device_uuid;  // same name, another host
    EXPECT_EQ(topology.num_nodes(), 2);
    EXPECT_THAT(shared_devices(topology), IsEmpty());
    topology.ranks[1].device_uuid = topology.ranks[2].device_uuid = "";
    topology.ranks[1].pci_bus_id = topology.ranks[2].pci_bus_id = "0000:01:00.0";
    EXPECT_EQ(shared_devices(topology), (std::vector<std::vector<int>>{{1, 2}}));
    EXPECT_THAT(shared_devices(make_local_topology(3)), IsEmpty());
    topology = cuda_topology(3);
    for (RankPlace& place : topology.ranks) place.device_uuid = "";
    EXPECT_THAT(shared_devices(topology), IsEmpty()) << "it is not known which they are";
}

}  // namespace
}  // namespace pb::plan
