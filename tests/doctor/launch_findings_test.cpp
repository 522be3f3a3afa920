#include "doctor/launch_findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pb::doctor {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const auto kWrong = Field(&Finding::severity, Severity::wrong);
const auto kAdvice = Field(&Finding::severity, Severity::advice);
auto says(const std::string& words) { return Field(&Finding::what, HasSubstr(words)); }
auto says_fix(const std::string& words) { return Field(&Finding::fix, HasSubstr(words)); }

/// Two nodes "a" and "b" of four GPUs and 16 cores on two memory nodes; ranks bound as they should be.
class LaunchFindingsTest : public testing::Test {
  protected:
    LaunchFindingsTest() {
        for (int rank = 0; rank < 8; ++rank) ranks.push_back(good(rank));
    }

    static RankFacts good(int rank) {
        RankFacts facts;
        const int local = rank % 4;
        facts.place = {rank, rank < 4 ? "a" : "b", rank / 4, local, {DeviceKind::cuda, local}, "NVIDIA H100"};
        facts.place.device_uuid = "GPU-" + std::to_string(rank);
        facts.place.pci_bus_id = "0000:0" + std::to_string(local) + ":00.0";
        facts.place.num_cores = 4;
        facts.announced_local_rank = local;
        for (int core = 4 * local; core < 4 * local + 4; ++core) facts.cores.push_back(core);
        facts.memory_nodes = {local / 2};
        facts.device_memory_node = local / 2;
        facts.node_cores = 16;
        for (int gpu = 4 * (rank / 4); gpu < 4 * (rank / 4) + 4; ++gpu)
            facts.visible_devices.push_back("GPU-" + std::to_string(gpu));
        facts.libraries = {
            {"patchbench", "", "patchbench 0.1.0"}, {"nccl", "2.28.9", "2.28.9"}, {"mpi", "3.1", "Open MPI v4"}};
        return facts;
    }

    void put_on_cpu(RankFacts& facts) {
        facts.place.device = {};
        facts.place.device_uuid = facts.place.pci_bus_id = "";
        facts.device_memory_node.reset();
        facts.visible_devices.clear();
    }

    plan::Topology topology() const {
        plan::Topology all;
        for (const auto& rank : ranks) all.ranks.push_back(rank.place);
        return all;
    }

    std::vector<RankFacts> ranks;
};

TEST_F(LaunchFindingsTest, AGoodLaunchHasNone) {
    EXPECT_THAT(find_device_findings(ranks), IsEmpty());
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty());
    EXPECT_THAT(find_library_findings(ranks), IsEmpty());
    EXPECT_THAT(find_launcher_findings(ranks), IsEmpty());
    EXPECT_THAT(variable_lines(ranks), IsEmpty());
}

TEST_F(LaunchFindingsTest, NoRanksAreNoFindings) {
    ranks.clear();
    EXPECT_THAT(find_device_findings(ranks), IsEmpty());
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty());
    EXPECT_THAT(find_library_findings(ranks), IsEmpty());
    EXPECT_THAT(find_launcher_findings(ranks), IsEmpty());
}

TEST_F(LaunchFindingsTest, RanksOnOneGpuAreWrong) {
    ranks[6].place.device_uuid = "GPU-5";
    EXPECT_THAT(find_device_findings(ranks),
                ElementsAre(AllOf(kWrong, says("ranks 5-6@b "), says("(NVIDIA H100, bus 0000:01:00.0, GPU-5)")),
                            AllOf(kAdvice, says("1 visible GPUs of b "))));
}

TEST_F(LaunchFindingsTest, ARankWithoutAGpuAmongOthersIsWrong) {
    put_on_cpu(ranks[7]);
    ranks[7].why_no_device = "the NVIDIA driver shows no device";
    const auto all = find_device_findings(ranks);
    EXPECT_THAT(all, testing::Contains(AllOf(kWrong, says("rank 7@b "), says_fix("CUDA_VISIBLE_DEVICES"))));
    EXPECT_THAT(all, testing::Contains(AllOf(kAdvice, says("rank 7@b: "), says("NVIDIA driver"))));
    put_on_cpu(ranks[6]);
    ranks[6].why_no_device = ranks[7].why_no_device;
    EXPECT_THAT(find_device_findings(ranks),
                ElementsAre(AllOf(kWrong, says("ranks 6-7@b ")), AllOf(kAdvice, says("2 visible GPUs of b ")),
                            AllOf(kAdvice, says("ranks 6-7@b: "), says("NVIDIA driver"))))
        << "once for all of them";
}

TEST_F(LaunchFindingsTest, ACpuLaunchIsNoMixture) {
    for (auto& rank : ranks) put_on_cpu(rank);
    EXPECT_THAT(find_device_findings(ranks), IsEmpty());
}

TEST_F(LaunchFindingsTest, IdleGpusAreNamedByHost) {
    ranks.resize(6);
    EXPECT_THAT(find_device_findings(ranks), ElementsAre(AllOf(kAdvice, says("2 visible GPUs of b "))));
}

TEST_F(LaunchFindingsTest, GpusOfSeveralKindsOnANodeNeedAnOrder) {
    ranks[3].place.device_name = "NVIDIA A2";
    EXPECT_THAT(find_device_findings(ranks), ElementsAre(AllOf(kAdvice, says_fix("CUDA_DEVICE_ORDER=PCI_BUS_ID"))));
    for (auto& rank : ranks) rank.variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
    EXPECT_THAT(find_device_findings(ranks), IsEmpty());
    for (auto& rank : ranks) {
        rank.variables.clear();
        rank.place.device_name = rank.place.node == 0 ? "NVIDIA A2" : "NVIDIA H100";
    }
    EXPECT_THAT(find_device_findings(ranks), IsEmpty()) << "each node has GPUs of one kind";
}

TEST_F(LaunchFindingsTest, ALocalRankThatTheLauncherCountsOtherwiseIsWrong) {
    ranks[2].announced_local_rank = 0;
    ranks[3].announced_local_rank.reset();  // a launcher that says nothing
    EXPECT_THAT(find_device_findings(ranks), ElementsAre(AllOf(kWrong, says("rank 2@a"))));
}

TEST_F(LaunchFindingsTest, RanksOnTheSameCoresAreNamed) {
    ranks[1].cores = ranks[0].cores;
    EXPECT_THAT(find_binding_findings(ranks), ElementsAre(AllOf(kAdvice, says("ranks 0-1@a "), says(" 4 cores"),
                                                                says_fix("ranks.sh"), says_fix("bind.sh"))));
    ranks[4].cores = {0, 1, 2, 3, 4};  // one core of its neighbour, on the other node
    EXPECT_THAT(find_binding_findings(ranks), testing::Contains(AllOf(says("ranks 4-5@b "), says(" 8 cores"))));
}

TEST_F(LaunchFindingsTest, MoreRanksThanCoresIsAnotherFinding) {
    ranks.resize(3);
    for (auto& rank : ranks) {
        rank.cores = {0, 1};
        rank.node_cores = 2;
        rank.memory_nodes = {0};
        rank.device_memory_node.reset();
    }
    EXPECT_THAT(find_binding_findings(ranks), ElementsAre(AllOf(says(" 2 cores"), says_fix("no more ranks"))));
    ranks.pop_back();
    EXPECT_THAT(find_binding_findings(ranks), ElementsAre(AllOf(says(" 2 cores"), says_fix("bind.sh"))))
        << "each could have a core";
}

TEST_F(LaunchFindingsTest, PinnedThreadsOnSharedCoresAreTold) {
    ranks[1].cores = ranks[0].cores;
    ranks[1].variables["OMP_PROC_BIND"] = "close";
    EXPECT_THAT(find_binding_findings(ranks), testing::Contains(AllOf(says("OMP_PROC_BIND "), says("ranks 0-1@a"))));
    for (const char* off : {"false", "FALSE"}) {
        ranks[1].variables["OMP_PROC_BIND"] = off;
        EXPECT_THAT(find_binding_findings(ranks), Not(testing::Contains(says("OMP_PROC_BIND"))));
    }
    ranks[0].variables["GOMP_CPU_AFFINITY"] = "0-3";
    EXPECT_THAT(find_binding_findings(ranks),
                testing::Contains(AllOf(says("ranks 0-1@a"), says_fix("GOMP_CPU_AFFINITY"))));
}

TEST(CheckText, NotANumberIsTheLargestDifference) {
    EXPECT_THAT(tiny_text({1e-6, 2e-6}), HasSubstr("2.00e-06"));
    EXPECT_THAT(tiny_text({1e-6, std::nan(""), 2e-6}), HasSubstr("nan"));
}

TEST_F(LaunchFindingsTest, ADeviceThatComputesNoNumbersIsWrong) {
    const std::vector<double> errors{1e-6, 1e-3, std::nan(""), 1e-4};
    EXPECT_THAT(tiny_findings(errors, 1e-4, topology_of(ranks)), ElementsAre(says("rank 1@a"), says("rank 2@a")));
}

TEST_F(LaunchFindingsTest, OneCoreOfManyIsTold) {
    for (int rank : {4, 5}) ranks[static_cast<size_t>(rank)].cores.resize(1);
    EXPECT_THAT(find_binding_findings(ranks),
                ElementsAre(AllOf(kAdvice, says("ranks 4-5@b "), says(" 1 core "), says(" 16")),
                            AllOf(kAdvice, says("ranks 4-5@b "), says(" 1 core, ranks 0-3@a, 6-7@b 4"))));
}

TEST_F(LaunchFindingsTest, ManyThreadsOnFewProcessorsAreTold) {
    for (auto& rank : ranks) rank.variables["OMP_NUM_THREADS"] = "4";
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty());
    ranks[2].variables["OMP_NUM_THREADS"] = "64";
    EXPECT_THAT(find_binding_findings(ranks), ElementsAre(says("rank 2@a: OMP_NUM_THREADS=64 on 4 processors")));
    ranks[2].variables["OMP_NUM_THREADS"] = "many";
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty());
}

TEST_F(LaunchFindingsTest, ALimitOnProcessorTimeIsTold) {
    for (size_t rank = 0; rank < 4; ++rank) ranks[rank].place.processor_limit = 16;
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty()) << "as much as the cores of the node";
    for (size_t rank = 0; rank < 4; ++rank) ranks[rank].place.processor_limit = 7.5;
    EXPECT_THAT(find_binding_findings(ranks),
                ElementsAre(AllOf(kAdvice, says("ranks 0-3@a may use 16 cores"), says(" 7.5"), says_fix("--cpus"))));
}

TEST_F(LaunchFindingsTest, LinksAreToldByTheirSlowest) {
    EXPECT_EQ(links_text(topology(), {{0, 1, 5e9, 2e-6}, {4, 5, 4e9, 3.5e-6}, {0, 4, 1.25e9, 25e-6}}),
              "\nmessages within a node: 4.00 GB/s, 3.5 us (slowest of 2: ranks 4 and 5; fastest 5.00 GB/s)\n"
              "messages between nodes: 1.25 GB/s, 25.0 us\n");
}

TEST_F(LaunchFindingsTest, CoresFarFromTheGpuAreTold) {
    std::swap(ranks[0].cores, ranks[3].cores);
    std::swap(ranks[0].memory_nodes, ranks[3].memory_nodes);
    EXPECT_THAT(find_binding_findings(ranks),
                ElementsAre(AllOf(says("ranks 0, 3@a: "), says("memory node 1, GPU on 0"))));
    for (const int rank : {0, 3})
        ranks[static_cast<size_t>(rank)].memory_nodes = {rank == 0 ? 1 : 0, rank == 0 ? 0 : 1};
    EXPECT_THAT(find_binding_findings(ranks), IsEmpty()) << "they have cores on both nodes";
}

TEST_F(LaunchFindingsTest, ALoadedLibraryThatIsAnotherIsJudgedByWhatItBreaks) {
    for (auto& rank : ranks) rank.libraries[1].loaded = "2.19.3";
    EXPECT_THAT(find_library_findings(ranks),
                ElementsAre(AllOf(kAdvice, says("nccl: compiled against 2.28.9, loaded is 2.19.3"),
                                  says_fix("LD_LIBRARY_PATH"))));
    for (auto& rank : ranks) rank.libraries[1].loaded = "3.0.0";
    EXPECT_THAT(find_library_findings(ranks), ElementsAre(kWrong));
    for (auto& rank : ranks) rank.libraries[1] = {"libtorch", "2.11.0", "2.11.1"};
    EXPECT_THAT(find_library_findings(ranks), ElementsAre(kWrong));
}

TEST_F(LaunchFindingsTest, RanksWithUnequalLibrariesAreWrong) {
    ranks[4].libraries[0].loaded = "patchbench 0.2.0";
    ranks[5].libraries.pop_back();
    EXPECT_THAT(
        find_library_findings(ranks),
        ElementsAre(AllOf(kWrong, says("patchbench: patchbench 0.1.0 on rank 0@a, patchbench 0.2.0 on rank 4@b")),
                    AllOf(kWrong, says("mpi: Open MPI v4 on rank 0@a, absent on rank 5@b"))));
}

TEST_F(LaunchFindingsTest, TasksOfSlurmThatWereNotStartedAreTold) {
    ranks.resize(1);
    ranks[0].variables["SLURM_NTASKS"] = "4";
    EXPECT_THAT(find_launcher_findings(ranks),
                ElementsAre(AllOf(kAdvice, says("4 tasks"), says_fix("srun --mpi=pmix"))));
    ranks[0].variables["SLURM_STEP_NUM_TASKS"] = "1";
    EXPECT_THAT(find_launcher_findings(ranks), IsEmpty());
    ranks[0].variables = {{"SLURM_NTASKS", "1"}};
    EXPECT_THAT(find_launcher_findings(ranks), IsEmpty()) << "there is no other task to start";
}

TEST_F(LaunchFindingsTest, VariablesSayWhereTheyDiffer) {
    for (auto& rank : ranks) rank.variables["OMP_NUM_THREADS"] = "4";
    ranks[0].variables["CUDA_VISIBLE_DEVICES"] = "0";
    for (int rank : {1, 2}) ranks[static_cast<size_t>(rank)].variables["CUDA_VISIBLE_DEVICES"] = "";
    EXPECT_THAT(variable_lines(ranks),
                ElementsAre("CUDA_VISIBLE_DEVICES= (ranks 1-2@a), 0 (rank 0@a), not set (ranks 3@a, 4-7@b)",
                            "OMP_NUM_THREADS=4"));
}

TEST_F(LaunchFindingsTest, LimitsOfTheProcessAreTold) {
    EXPECT_THAT(find_limit_findings(ranks), IsEmpty());
    ranks[1].limits_kib = {{"-v", 2048}};
    ranks[5].limits_kib = {{"-v", 4096}, {"-l", 64}};
    EXPECT_THAT(find_limit_findings(ranks),
                ElementsAre(AllOf(kAdvice, says("ranks 1@a, 5@b: addresses are limited to 2048 KiB (ulimit -v)"),
                                  says_fix("ulimit -v unlimited")),
                            says("rank 5@b: locked memory is limited to 64 KiB")));
    ranks.resize(4);
    ranks[0].limits_kib = {{"-f", 1}, {"-l", 64}};
    EXPECT_THAT(launch_findings(ranks), ElementsAre(says("addresses"), says("sizes of files are limited to 1 KiB")));
}

TEST_F(LaunchFindingsTest, LinksAreWithinEachNodeAndRoundTheNodes) {
    EXPECT_THAT(links_to_measure(topology()), ElementsAre(std::pair(0, 1), std::pair(4, 5), std::pair(0, 4)));
    for (size_t rank = 0; rank < ranks.size(); ++rank) ranks[rank].place.node = static_cast<int>(rank / 3);
    EXPECT_THAT(links_to_measure(topology()), ElementsAre(std::pair(0, 1), std::pair(3, 4), std::pair(6, 7),
                                                          std::pair(0, 3), std::pair(3, 6), std::pair(6, 0)));
    EXPECT_THAT(links_to_measure(plan::make_local_topology(1)), IsEmpty());
}

TEST_F(LaunchFindingsTest, SlowLinksAreTold) {
    const auto find = [&](double within, double between) {
        return find_link_findings(topology(), {{0, 1, within, 1e-6}, {4, 5, 20e9, 1e-6}, {0, 4, between, 1e-6}});
    };
    EXPECT_THAT(find(20e9, 12e9), IsEmpty());
    EXPECT_THAT(find(20e9, 0.117e9), ElementsAre(AllOf(kAdvice, says("rank 0@a to rank 4@b: 0.12 GB/s between nodes"),
                                                       says_fix("UCX_NET_DEVICES"))));
}

TEST_F(LaunchFindingsTest, OneSlowLinkAmongManyIsTold) {
    std::vector<LinkSpeed> links{{0, 4, 12e9, 1e-6}, {0, 5, 12e9, 1e-6}, {1, 4, 5e9, 1e-6}};
    EXPECT_THAT(find_link_findings(topology(), links),
                ElementsAre(says("rank 1@a to rank 4@b: 5.00 GB/s between nodes, 12.00 GB/s elsewhere")));
    links[2].bytes_per_s = 7e9;
    EXPECT_THAT(find_link_findings(topology(), links), IsEmpty());
}

}  // namespace
}  // namespace pb::doctor
