// Every thread that patchbench itself starts, under the thread sanitizer: threads_program <mode>
// watch: ranks watch each other, and leave one after the other. missing: a rank never beats; the job ends.
// sample: a sampler of gauges is started and stopped beside work. copy: a team of threads copies together. signal: a
// signal comes while threads look for it. share: the threads of a pool share loops. limit: a thread looks
// whether calls return, until one does not.
#include "base/thread_pool.hpp"
#include "comm/interruption.hpp"
#include "comm/shared/node_memory.hpp"
#include "comm/watchdog.hpp"
#include "device/best_rates.hpp"
#include "device/telemetry/gauge_sampler.hpp"
#include "threads/one_process_node.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::milliseconds;

constexpr int kRanks = 4;

void expect(bool holds, const char* what) {
    if (holds) return;
    std::cerr << "failed: " << what << std::endl;
    std::_Exit(1);
}

void watch() {
    pb::test::run_ranks(kRanks, [](int rank) {
        const pb::comm::Communicator world = pb::comm::Communicator::world();
        const pb::comm::Watchdog watchdog(world, 4);  // looks each second
        std::this_thread::sleep_for(milliseconds(1200 + 400 * rank));
    });
}

void miss() {
    pb::test::run_ranks(2, [](int rank) {
        const pb::comm::Communicator world = pb::comm::Communicator::world();
        if (rank == 1) {  // takes part in the making of the beats, and is not heard of again
            (void)world.all_gather("rank 1@here");
            const pb::comm::NodeMemory beats(world, 2 * 64);
            world.barrier();
            std::this_thread::sleep_for(std::chrono::seconds(40));
            return;
        }
        pb::test::expect_abort();
        const pb::comm::Watchdog watchdog(world, 0.2);
        std::this_thread::sleep_for(std::chrono::seconds(30));
        expect(false, "the watchdog of rank 0 did not end the job");
    });
}

struct Counter final : pb::device::GaugeSource {
    [[nodiscard]] std::optional<double> read(pb::Gauge /*gauge*/) override { return ++readings; }
    int readings = 0;
};

void sample() {
    for (int round = 0; round < 20; ++round) {
        Counter counter;
        pb::device::GaugeSampler sampler(counter, milliseconds(1));
        std::this_thread::sleep_for(milliseconds(round));
        sampler.stop();
        expect(sampler.samples().size() >= 2, "a short point has two samples");
    }
    Counter counter;
    pb::device::GaugeSampler sampler(counter, milliseconds(1));  // more samples than there is room for
    std::this_thread::sleep_for(milliseconds(600));
    sampler.stop();
    expect(sampler.samples().size() <= pb::device::GaugeSampler::kCapacity, "samples are thinned out");
    const pb::device::GaugeSampler left_alone(counter, milliseconds(1));
}

void copy() { expect(pb::device::host_copy_gb_per_s(kRanks, 0.2) > 0, "copies take time"); }

void meet_signal() {
    const pb::comm::InterruptionGuard guard;
    std::atomic<int> seen{0};
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kRanks; ++thread)
        threads.emplace_back([&seen](const std::stop_token& stop) {
            while (!stop.stop_requested() && pb::comm::interruption().empty()) std::this_thread::yield();
            if (pb::comm::interruption() == "SIGTERM") ++seen;
        });
    std::this_thread::sleep_for(milliseconds(50));
    std::raise(SIGTERM);
    threads.clear();
    expect(pb::comm::interruption() == "SIGTERM", "the signal was noted");
}

/// Each loop reads what all threads wrote in the one before it.
void share() {
    pb::ThreadPool threads(kRanks);
    std::vector<int64_t> values(100), others(100);
    for (int loop = 0; loop < 200; ++loop) {
        threads.run(100, [&](pb::Range share, int) {
            for (int64_t i = share.begin; i < share.end; ++i)
                others[static_cast<size_t>(i)] = values[static_cast<size_t>(99 - i)] + 1;
        });
        values.swap(others);
    }
    for (const int64_t value : values) expect(value == 200, "a value that no thread computed");
}

void limit() {
    pb::comm::CallLimit limit("rank 0@here", "a call", 0.5);
    for (int call = 0; call < 20; ++call) limit([] { std::this_thread::sleep_for(milliseconds(20)); });
    pb::test::expect_abort();
    limit([] { std::this_thread::sleep_for(std::chrono::seconds(30)); });
    expect(false, "the job was not ended");
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string, void (*)()> modes{{"watch", watch}, {"missing", miss},       {"sample", sample},
                                                  {"copy", copy},   {"signal", meet_signal}, {"share", share},
                                                  {"limit", limit}};
    const auto mode = modes.find(argc > 1 ? argv[1] : "");
    expect(mode != modes.end(), "threads_program watch|missing|sample|copy|signal|share|limit");
    mode->second();
    return 0;
}
