// What `patchbench check` finds when it gathers figures through NCCL and through MPI (run/launch_trials.cpp), on a fake
// NCCL and fake devices.
#include "doctor/launch_facts.hpp"
#include "fakes/nccl/fake_nccl.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb {
namespace {

using fake::Trouble;
using testing::HasSubstr;

class NcclTrial : public testing::Test {
  protected:
    void TearDown() override { fake::behave({}); }
    [[nodiscard]] plan::Topology with_a_gpu_each() const {
        plan::Topology topology;
        for (int rank = 0; rank < world.size(); ++rank) {
            plan::RankPlace& place = topology.ranks.emplace_back();
            place.rank = rank;
            place.host = comm::host_name();
            place.device = {DeviceKind::cuda, rank};
            place.device_uuid = "GPU-" + std::to_string(rank);
            place.pci_bus_id = "0000:0" + std::to_string(rank) + ":00.0";
        }
        return topology;
    }
    void plant(int rank, Trouble trouble, const std::string& call) const {
        if (world.rank() == rank) fake::behave({.trouble = trouble, .call = call});
    }
    [[nodiscard]] doctor::ReductionTrial try_it(double timeout_s = 20) const {
        return doctor::try_reductions(world, with_a_gpu_each(), timeout_s);
    }
    const comm::Communicator world = comm::Communicator::world();
};

TEST_F(NcclTrial, TheSameNumbersAreNoFinding) {
    const doctor::ReductionTrial trial = try_it();
    EXPECT_EQ(trial.how, "NCCL and MPI, the same numbers");
    EXPECT_TRUE(trial.findings.empty());
}

TEST_F(NcclTrial, RanksThatShareADeviceKeepToMpi) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    plan::Topology shared = with_a_gpu_each();
    for (plan::RankPlace& place : shared.ranks) {
        place.device_uuid = shared.ranks[0].device_uuid;
        place.pci_bus_id = shared.ranks[0].pci_bus_id;
    }
    EXPECT_THAT(doctor::try_reductions(world, shared, 20).how, HasSubstr("NCCL needs a GPU of its own"));
}

TEST_F(NcclTrial, OtherNumbersOnOneRankAreFoundByAll) {
    for (const char* call : {"ncclAllGather", "ncclAllReduce"}) {
        plant(world.size() - 1, Trouble::wrong_values, call);
        const doctor::ReductionTrial trial = try_it();
        EXPECT_EQ(trial.how, "NCCL and MPI, DIFFERENT numbers") << call;
        ASSERT_EQ(trial.findings.size(), 1U);
        EXPECT_EQ(trial.findings[0].severity, doctor::Severity::wrong);
    }
}

TEST_F(NcclTrial, AnErrorOnOneRankIsAFindingOfAll) {
    for (const char* call : {"ncclCommInitRankConfig", "ncclAllReduce"}) {
        plant(world.size() - 1, Trouble::async_error, call);
        const doctor::ReductionTrial trial = try_it(2);
        EXPECT_EQ(trial.how, "MPI (NCCL failed)") << call;
        ASSERT_EQ(trial.findings.size(), 1U);
        EXPECT_THAT(trial.findings[0].what, HasSubstr("a fake error after the call"));
        fake::behave({});
    }
}

}  // namespace
}  // namespace pb
