#include "comm/ping_pong.hpp"

#include "comm/launcher.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace pb::comm {
namespace {

TEST(PingPongTest, IsTheSameOnAllRanks) {
    const Communicator world = Communicator::world();
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    for (const auto& [first, second] : {std::pair(0, 1), std::pair(world.size() - 1, 0)}) {
        const PingPong speed = ping_pong(world, first, second);
        EXPECT_GT(speed.latency_s, 0);
        EXPECT_GT(speed.bytes_per_s, 1e6);  // any machine
        EXPECT_EQ(world.max(speed.bytes_per_s), world.min(speed.bytes_per_s));
        EXPECT_EQ(world.max(speed.latency_s), world.min(speed.latency_s));
    }
}

/// An environment without a launcher; the real one is restored at the end.
class LauncherTest : public testing::Test {
  protected:
    LauncherTest() {
        for (char** entry = environ; *entry != nullptr; ++entry) {
            const std::string_view text = *entry;
            for (const auto* prefix : {"PMI", "OMPI_COMM_WORLD_", "SLURM_", "PALS_", "FLUX_"})
                if (text.starts_with(prefix)) remember(std::string(text.substr(0, text.find('='))));
        }
        for (const auto& [name, value] : former) unsetenv(name.c_str());
    }
    ~LauncherTest() override {
        for (const auto& [name, value] : former)
            value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
    }
    void set(const std::string& name, const char* value) {
        remember(name);
        setenv(name.c_str(), value, 1);
    }

  private:
    void remember(const std::string& name) {
        const char* value = std::getenv(name.c_str());
        former.emplace(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
    }
    std::map<std::string, std::optional<std::string>> former;
};

TEST_F(LauncherTest, TasksThatCannotFindEachOtherAreRefused) {
    EXPECT_NO_THROW(require_connected_tasks());
    set("SLURM_STEP_NUM_TASKS", "2");
    EXPECT_THROW(require_connected_tasks(), UsageError);
    set("PMIX_RANK", "0");
    EXPECT_NO_THROW(require_connected_tasks());
}

TEST_F(LauncherTest, EveryProcessManagerConnectsTasks) {
    set("SLURM_STEP_NUM_TASKS", "2");
    for (const char* variable : {"PMI_FD", "PALS_RANKID", "OMPI_COMM_WORLD_SIZE", "FLUX_JOB_ID"}) {
        EXPECT_THROW(require_connected_tasks(), UsageError) << variable;
        set(variable, "1");
        EXPECT_NO_THROW(require_connected_tasks()) << variable;
        unsetenv(variable);
    }
}

TEST_F(LauncherTest, TheInnermostLauncherSaysTheNumberOfRanks) {
    EXPECT_EQ(MpiSession::launcher_size(), std::nullopt);
    set("SLURM_NTASKS", "8");  // of the allocation
    EXPECT_EQ(MpiSession::launcher_size(), std::nullopt);
    set("SLURM_STEP_NUM_TASKS", "4");
    EXPECT_EQ(MpiSession::launcher_size(), 4);
    set("OMPI_COMM_WORLD_SIZE", "1");
    EXPECT_EQ(MpiSession::launcher_size(), 1);
    for (const char* none : {"0", "-1", "many"}) {
        set("OMPI_COMM_WORLD_SIZE", none);
        EXPECT_EQ(MpiSession::launcher_size(), 4) << none;
    }
}

TEST_F(LauncherTest, OneTaskNeedsNobody) {
    set("SLURM_STEP_NUM_TASKS", "1");
    EXPECT_NO_THROW(require_connected_tasks());
}

TEST_F(LauncherTest, TheInnermostLauncherSaysTheLocalRank) {
    EXPECT_EQ(launcher_local_rank(), std::nullopt);
    set("SLURM_LOCALID", "0");  // a batch script has it, too
    EXPECT_EQ(launcher_local_rank(), std::nullopt);
    set("SLURM_STEP_NUM_TASKS", "4");
    set("SLURM_LOCALID", "3");
    EXPECT_EQ(launcher_local_rank(), 3);
    set("OMPI_COMM_WORLD_LOCAL_RANK", "1");
    EXPECT_EQ(launcher_local_rank(), 1);
    set("OMPI_COMM_WORLD_LOCAL_RANK", "one");
    EXPECT_EQ(launcher_local_rank(), 3);
}

TEST_F(LauncherTest, TheFirstProcessOfALaunchIsKnown) {
    EXPECT_EQ(launcher_rank(), std::nullopt);
    EXPECT_TRUE(is_first_process());
    set("SLURM_PROCID", "0");  // also in a shell of a job step, which may start ranks itself
    EXPECT_EQ(launcher_rank(), std::nullopt);
    EXPECT_TRUE(is_first_process());
    set("SLURM_PROCID", "1");
    EXPECT_FALSE(is_first_process());
    for (const char* variable : {"PMI_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "OMPI_COMM_WORLD_RANK"}) {
        set(variable, "0");  // the innermost launcher's
        EXPECT_EQ(launcher_rank(), 0) << variable;
        EXPECT_TRUE(is_first_process()) << variable;
        set(variable, "2");
        EXPECT_EQ(launcher_rank(), 2) << variable;
        EXPECT_FALSE(is_first_process()) << variable;
    }
}

TEST_F(LauncherTest, AnErrorBeforeMpiNamesItsRank) {
    EXPECT_EQ(place_before_mpi(), "");
    set("OMPI_COMM_WORLD_RANK", "2");
    EXPECT_EQ(place_before_mpi(), "rank 2@" + host_name() + ": ");
}

TEST(MpiTest, SaysWhetherItIsCudaAware) { EXPECT_NO_THROW((void)mpi_is_cuda_aware()); }

}  // namespace
}  // namespace pb::comm
