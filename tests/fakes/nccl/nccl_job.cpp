// A job for nccl_job_test.py, on a fake NCCL: brings NCCL up, gathers figures and carries rows to the root, and ends as
// the program does (app/session.cpp). One rank meets trouble at one call.
// usage: nccl_job <error|async_error|stays_in_progress|never_runs|never_returns|stops> <call> <rank> <time-out in s>
#include "comm/collective_step.hpp"
#include "comm/metric_reduction.hpp"
#include "comm/transfer_channel.hpp"
#include "comm/watchdog.hpp"
#include "fakes/nccl/fake_nccl.hpp"
#include "support/row_place.hpp"

#include "patchbench/base/error.hpp"

#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr double kWatchdog_s = 2;

const std::map<std::string, fake::Trouble> kTroubles{
    {"none", fake::Trouble::none},
    {"error", fake::Trouble::error},
    {"async_error", fake::Trouble::async_error},
    {"stays_in_progress", fake::Trouble::stays_in_progress},
    {"never_runs", fake::Trouble::never_runs},
    {"never_returns", fake::Trouble::never_returns},
    {"stops", fake::Trouble::stops},
};

void transfer_rows(const pb::comm::Communicator& world, pb::DeviceId device, double timeout_s) {
    std::vector<int> senders;
    for (int rank = 1; rank < world.size(); ++rank) senders.push_back(rank);
    const auto channel =
        pb::comm::make_transfer_channel(world, senders, pb::ExchangeKind::nccl, device, true, timeout_s);
    std::vector<pb::RowPlace> places;
    std::vector<pb::comm::RowTransfer> transfers;
    for (const int rank : senders)
        if (world.is_root() || rank == world.rank())
            transfers.push_back({rank, places.emplace_back(pb::narrow_rows()).rows()});
    channel->transfer(transfers);
}

void run(const pb::comm::Communicator& world, double timeout_s) {
    const pb::DeviceId device{pb::DeviceKind::cuda, world.rank()};
    const auto reduction =
        pb::comm::make_metric_reduction(world, pb::ReductionKind::automatic, device, true, timeout_s);
    const std::vector<double> figures{1.0 * world.rank()};
    (void)reduction->all_gather(figures);
    const double largest = reduction->max(figures).front();
    transfer_rows(world, device, timeout_s);
    if (world.is_root()) std::cout << "done, the largest is " << largest << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5) return static_cast<int>(pb::ExitCode::usage);
    std::optional<pb::comm::Watchdog> watchdog;
    pb::comm::MpiSession session(argc, argv);
    const pb::comm::Communicator& world = session.world();
    const std::string place = "rank " + std::to_string(world.rank()) + "@" + pb::comm::host_name() + ": ";
    if (world.rank() == std::atoi(argv[3])) fake::behave({.trouble = kTroubles.at(argv[1]), .call = argv[2]});
    try {
        watchdog.emplace(world, kWatchdog_s);
        run(world, std::atof(argv[4]));
        return 0;
    } catch (const std::exception& error) {
        const bool elsewhere = dynamic_cast<const pb::comm::FailedElsewhere*>(&error) != nullptr;
        std::cerr << (elsewhere ? "" : place) + error.what() + "\n" << std::flush;
    }
    pb::comm::MpiSession::abort(static_cast<int>(pb::ExitCode::failed));
}
