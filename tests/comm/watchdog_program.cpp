// A small job for comm_watchdog_test.py. usage: comm_watchdog_program <mode> [time-out in s]
// wait: every rank says "ready <rank> <pid>" and waits until rank 0 reads a line.
// leave: as wait, but rank 1 has ended its watchdog before.
// finalise: as wait, but only the last rank waits, for ever; the others end.
// throw: the last rank throws while the others wait; main ends the job with exit code 3.
// size: "size <ranks by the launcher> <ranks by MPI>".
#include "comm/communicator.hpp"
#include "comm/watchdog.hpp"

#include "patchbench/base/error.hpp"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

namespace {

void wait_watched(const pb::comm::Communicator& world, const std::string& mode,
                  std::optional<pb::comm::Watchdog>& watchdog) {
    if (mode == "leave" && world.rank() == 1) watchdog.reset();
    std::cout << "ready " + std::to_string(world.rank()) + " " + std::to_string(getpid()) + "\n" << std::flush;
    if (mode == "finalise") {
        if (world.rank() == world.size() - 1) pause();
        return;
    }
    std::string line;
    if (world.is_root()) std::getline(std::cin, line);
    world.sleeping_barrier();
}

void run(const pb::comm::Communicator& world, const std::string& mode, std::optional<pb::comm::Watchdog>& watchdog) {
    if (mode == "throw") {
        if (world.rank() == world.size() - 1) throw pb::Error("the last rank has a trouble of its own");
        world.barrier();
    } else if (mode == "size") {
        if (world.is_root())
            std::cout << "size " << pb::comm::MpiSession::launcher_size().value_or(-1) << " " << world.size()
                      << std::endl;
    } else {
        wait_watched(world, mode, watchdog);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "wait";
    const double timeout_s = argc > 2 ? std::atof(argv[2]) : 0;
    std::optional<pb::comm::Watchdog> watchdog;  // outlives the session: watches MPI_Finalize, too
    try {
        const pb::comm::MpiSession session(argc, argv);
        watchdog.emplace(session.world(), timeout_s);
        run(session.world(), mode, watchdog);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << error.what() << std::endl;
        pb::comm::MpiSession::abort(static_cast<int>(pb::ExitCode::verification));
    }
}
