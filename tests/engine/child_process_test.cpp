// A process that this one starts, with the shell in the place of an engine.
#include "engine/worker/child_process.hpp"

#include "engine/worker/engine_places.hpp"
#include "engine/worker/worker.hpp"
#include "support/environment_variable.hpp"
#include "support/resource_limit.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace pb::engine::worker_engine {
namespace {

constexpr double kPatienceS = 60;  // no end of a shell takes as long

struct Ended {
    std::string how, words;
};

Ended run(const std::string& script, const std::vector<int>& inherited = {}) {
    ChildProcess process({"sh", "-c", script}, inherited);
    while (!process.has_ended(0.01)) process.read_words();
    return {process.how_it_ended(kPatienceS), process.last_words()};
}

TEST(ChildProcess, SaysHowItEnded) {
    EXPECT_EQ(run("exit 0").how, "ended with exit code 0");
    EXPECT_EQ(run("exit 3").how, "ended with exit code 3");
    EXPECT_THAT(run("kill -9 $$").how, testing::StartsWith("was killed by signal 9"));
    EXPECT_THROW(ChildProcess({"/nowhere/sh"}, {}), Error);
}

TEST(ChildProcess, SaysTheLastOfItsWordsOnOneLine) {
    EXPECT_EQ(run("echo one; echo '  two' >&2").words, "one two");
    const std::string words = run("i=0; while [ $i -lt 3000 ]; do echo $i; i=$((i + 1)); done").words;
    EXPECT_THAT(words, testing::StartsWith("..."));
    EXPECT_THAT(words, testing::EndsWith(" 2998 2999"));
    EXPECT_EQ(words.size(), 603U);
}

TEST(ChildProcess, HasTheDescriptorsThatItIsGivenAndNoOthers) {
    std::array<int, 3> others{};  // which exec does not close
    for (int& other : others) other = open("/dev/null", O_RDONLY);
    const int given = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(given, 0);
    const std::string listed =
        "for f in /proc/$$/fd/*; do case $(readlink $f) in */comm) echo comm ${f##*/};; esac; done; "
        "readlink /proc/$$/fd/0; [ -e /proc/$$/fd/4 ] && echo more";
    EXPECT_EQ(run(listed, {given}).words, "comm 3 /dev/null");
    for (const int other : others) close(other);
    close(given);
}

/// A Ctrl-C is for the ranks, which end their engines; and what an engine has started ends with it.
TEST(ChildProcess, IsInAGroupOfItsOwnWhichTheUsersSignalsDoNotEnd) {
    EXPECT_EQ(run("[ $(cut -d ' ' -f 5 /proc/$$/stat) = $$ ] && echo own").words, "own");
    for (const char* signal : {"INT", "TERM", "HUP", "USR1"})
        EXPECT_EQ(run(std::string("kill -") + signal + " $$; exit 3").how, "ended with exit code 3") << signal;
}

/// As `launch/bundle_env.sh` leaves the environment of a bundle.
TEST(ChildProcess, HasTheUsersLibraryPathAndNoPythonOfABundle) {
    const std::string print = "echo ${LD_LIBRARY_PATH-none} ${PYTHONHOME-none} ${BUNDLE_OTHER-none}";
    const test::EnvironmentVariable path("LD_LIBRARY_PATH", "/usr/lib");
    const test::EnvironmentVariable python("PYTHONHOME", "/bundle/python");
    const test::EnvironmentVariable other("BUNDLE_OTHER", "kept");
    EXPECT_EQ(run(print).words, "/usr/lib none kept") << "no bundle";
    const test::EnvironmentVariable users("PATCHBENCH_USER_LIBRARY_PATH", "/users/lib");
    EXPECT_EQ(run(print).words, "/users/lib none kept");
    users.set("");
    EXPECT_EQ(run(print).words, "none none kept");
}

TEST(ChildProcess, OfAnInstalledEngineIsThePythonOfItsEnvironment) {
    const test::TemporaryFolder folder;
    const std::filesystem::path python = folder / "openvino/bin/python";
    std::filesystem::create_directories(python.parent_path());
    std::ofstream(python) << "";
    const test::EnvironmentVariable engines("PATCHBENCH_ENGINES", folder.path());
    EXPECT_EQ(worker_command(EngineKind::openvino, "").front(), python);
    EXPECT_THROW((void)worker_command(EngineKind::jax, ""), Error);
}

/// Limits the addresses that this process may have to `more` than it has, as batch systems do.
test::ResourceLimit limit_addresses(size_t more) {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return {RLIMIT_AS, pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + more};
}

TEST(SharedMemory, WithoutAddressesForItIsOutOfMemory) {
    constexpr size_t kMebibyte = size_t{1} << 20;
    SharedMemory memory;
    memory.grow(kMebibyte);
    {
        const test::ResourceLimit limit = limit_addresses(32 * kMebibyte);
        EXPECT_THROW(memory.grow(64 * kMebibyte), OutOfMemory);
    }
    memory.grow(2 * kMebibyte);
    EXPECT_EQ(memory.bytes(), 2 * kMebibyte);
}

TEST(ChildProcess, OfTheEnginePythonNeedsAFile) {
    EXPECT_THROW((void)worker_command(EngineKind::python, ""), UsageError);
    EXPECT_EQ(worker_command(EngineKind::python, "mine.py").back(), "python:mine.py");
}

}  // namespace
}  // namespace pb::engine::worker_engine
