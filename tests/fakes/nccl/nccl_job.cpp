// A job for nccl_job_test.py, on a fake NCCL: brings NCCL up, gathers figures and carries rows to the root (output), or
// exchanges border rows (borders), and ends as the program does (app/session.cpp). One rank meets trouble at one call.
// usage: nccl_job <output|borders> <error|async_error|stays_in_progress|never_runs|never_returns|stops|dies> <call>
//     <rank> <time-out in s>
#include "comm/collective_step.hpp"
#include "comm/metric_reduction.hpp"
#include "comm/rows/border_channel.hpp"
#include "comm/rows/transfer_channel.hpp"
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
    {"dies", fake::Trouble::dies},
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

/// Two passes of three exchanges between ranks that lie side by side.
void exchange_borders(const pb::comm::Communicator& world, pb::DeviceId device, double timeout_s) {
    constexpr size_t kBytes = 1001;
    const auto borders = pb::comm::make_device_borders(world, pb::ExchangeKind::nccl, device, true, timeout_s);
    pb::comm::NeighbourRanks neighbours;
    if (world.rank() > 0) neighbours.above = world.rank() - 1;
    if (world.rank() + 1 < world.size()) neighbours.below = world.rank() + 1;
    const pb::device::DeviceBuffer memory(device, 4 * kBytes);
    const auto message = [&](size_t number) {
        const std::span<std::byte> all(memory.pointer() + number * 2 * kBytes, 2 * kBytes);
        return pb::BorderRows{all.first(kBytes), all.last(kBytes)};
    };
    pb::device::Stream stream(device);
    const auto channel = borders->open(neighbours, stream);
    for (int pass = 0; pass < 2; ++pass) {
        channel->begin_pass(3);
        for (int number = 0; number < 3; ++number) {
            channel->start(message(0), message(1));
            channel->finish();
        }
        channel->finish_pass();
    }
    if (world.is_root()) std::cout << "done" << std::endl;
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
    if (argc != 6) return static_cast<int>(pb::ExitCode::usage);
    std::optional<pb::comm::Watchdog> watchdog;
    pb::comm::MpiSession session(argc, argv);
    const pb::comm::Communicator& world = session.world();
    const std::string place = "rank " + std::to_string(world.rank()) + "@" + pb::comm::host_name() + ": ";
    if (world.rank() == std::atoi(argv[4])) fake::behave({.trouble = kTroubles.at(argv[2]), .call = argv[3]});
    try {
        watchdog.emplace(world, kWatchdog_s);
        if (argv[1] == std::string("borders"))
            exchange_borders(world, {pb::DeviceKind::cuda, world.rank()}, std::atof(argv[5]));
        else
            run(world, std::atof(argv[5]));
        return 0;
    } catch (const std::exception& error) {
        const bool elsewhere = dynamic_cast<const pb::comm::FailedElsewhere*>(&error) != nullptr;
        std::cerr << (elsewhere ? "" : place) + error.what() + "\n" << std::flush;
    }
    pb::comm::MpiSession::abort(static_cast<int>(pb::ExitCode::failed));
}
