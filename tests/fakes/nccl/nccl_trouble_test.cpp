// What becomes of the ranks when one of them meets trouble in NCCL: all of them learn of it, of its cause and not of
// its consequences, and NCCL is ended everywhere. On a fake NCCL (fake_nccl.hpp).
#include "comm/metric_reduction.hpp"
#include "comm/nccl/communicator.hpp"
#include "comm/rows/transfer_channel.hpp"
#include "fakes/nccl/fake_nccl.hpp"
#include "support/messages.hpp"
#include "support/row_place.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace pb {
namespace {

using fake::Trouble;
using testing::HasSubstr;

constexpr double kTimeout_s = 2;

class NcclTrouble : public testing::Test {
  protected:
    void TearDown() override {
        fake::behave({});
        world.barrier();
        EXPECT_EQ(fake::counts().begun, fake::counts().destroyed + fake::counts().aborted);
    }
    /// On the last rank alone.
    void plant(Trouble trouble, const std::string& call, int time = 1) const {
        if (has_trouble()) fake::behave({.trouble = trouble, .call = call, .time = time});
    }
    [[nodiscard]] bool has_trouble() const { return world.rank() == world.size() - 1; }
    [[nodiscard]] std::string troubled_rank() const { return "rank " + std::to_string(world.size() - 1) + "@"; }
    /// This rank's own text, or one that names the rank.
    void expect_cause(const std::string& error, const std::string& cause) const {
        EXPECT_THAT(error, HasSubstr(cause));
        if (!has_trouble()) {
            EXPECT_THAT(error, HasSubstr(troubled_rank()));
        }
        EXPECT_THAT(error, testing::Not(HasSubstr("did not end within"))) << "a consequence, not the cause";
    }
    [[nodiscard]] std::unique_ptr<comm::MetricReduction> bring_up() const {
        return comm::make_metric_reduction(world, ReductionKind::nccl, device, true, kTimeout_s);
    }
    [[nodiscard]] std::unique_ptr<comm::TransferChannel> make_channel() const {
        std::vector<int> senders;
        for (int rank = 1; rank < world.size(); ++rank) senders.push_back(rank);
        return comm::make_transfer_channel(world, senders, ExchangeKind::nccl, device, true, kTimeout_s);
    }
    void transfer_rows(comm::TransferChannel& channel) const {
        std::vector<RowPlace> places;  // a copy would name the memory of the first
        std::vector<comm::RowTransfer> transfers;
        for (int rank = 1; rank < world.size(); ++rank)
            if (world.is_root() || rank == world.rank())
                transfers.push_back({rank, places.emplace_back(narrow_rows()).rows()});
        channel.transfer(transfers);
    }

    const comm::Communicator world = comm::Communicator::world();
    const DeviceId device{DeviceKind::cuda, world.rank()};
    const std::vector<double> figures{1.0 * world.rank(), -1.0 * world.rank()};
};

TEST_F(NcclTrouble, EndsInOrderWhereThereIsNone) {
    const fake::Counts before = fake::counts();
    (void)bring_up()->max(figures);
    if (world.size() > 1) transfer_rows(*make_channel());
    const int expected = world.size() > 1 ? 2 : 1;
    EXPECT_EQ(fake::counts().begun - before.begun, expected);
    EXPECT_EQ(fake::counts().destroyed - before.destroyed, expected);
    EXPECT_EQ(fake::counts().aborted, before.aborted);
}

TEST_F(NcclTrouble, AFailedBringUpIsTheErrorOfAllRanks) {
    for (const auto& [trouble, text] : {std::pair{Trouble::error, "a fake error of the call"},
                                        {Trouble::async_error, "a fake error after the call"}}) {
        plant(trouble, "ncclCommInitRankConfig");
        expect_cause(error_of<Error>([&] { (void)bring_up(); }), text);
        fake::behave({});
    }
}

TEST_F(NcclTrouble, OneRankCannotMakeTheId) {
    if (world.is_root()) fake::behave({.trouble = Trouble::error, .call = "ncclGetUniqueId"});
    EXPECT_THAT(error_of<Error>([&] { (void)bring_up(); }), HasSubstr("unhandled system error"));
}

TEST_F(NcclTrouble, AFailedCollectiveIsTheErrorOfAllRanksAndEndsNccl) {
    for (const auto& [trouble, text] : {std::pair{Trouble::error, "a fake error of the call"},
                                        {Trouble::async_error, "a fake error after the call"}}) {
        const fake::Counts before = fake::counts();
        const auto reduction = bring_up();
        plant(trouble, "ncclAllReduce", 2);
        EXPECT_EQ(reduction->max(figures), (std::vector<double>{world.size() - 1.0, 0}));
        expect_cause(error_of<Error>([&] { (void)reduction->max(figures); }), text);
        EXPECT_EQ(fake::counts().aborted - before.aborted, 1);
        EXPECT_THAT(error_of<Error>([&] { (void)reduction->all_gather(figures); }),
                    HasSubstr("ended by an earlier error"));
        fake::behave({});
    }
}

TEST_F(NcclTrouble, WhatNeverEndsIsGivenUp) {
    for (const Trouble trouble : {Trouble::stays_in_progress, Trouble::never_runs}) {
        const auto reduction = bring_up();
        plant(trouble, "ncclAllGather");
        EXPECT_THAT(error_of<Error>([&] { (void)reduction->all_gather(figures); }),
                    HasSubstr("ncclAllGather did not end within 2 s: a rank is missing"));
        fake::behave({});
    }
    plant(Trouble::stays_in_progress, "ncclCommInitRankConfig");
    EXPECT_THAT(error_of<Error>([&] { (void)bring_up(); }), HasSubstr("NCCL bring-up did not end within 2 s"));
}

TEST_F(NcclTrouble, AShutdownThatFailsIsEndedByForce) {
    for (const Trouble trouble : {Trouble::error, Trouble::async_error, Trouble::stays_in_progress}) {
        const fake::Counts before = fake::counts();
        plant(trouble, "ncclCommFinalize");
        (void)bring_up()->max(figures);
        EXPECT_EQ(fake::counts().aborted - before.aborted, has_trouble() ? 1 : 0);
        fake::behave({});
    }
}

TEST_F(NcclTrouble, UnequalVersionsAreNamed) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    if (has_trouble()) fake::behave({.version = 22703});
    EXPECT_THAT(error_of<Error>([&] { (void)bring_up(); }),
                HasSubstr("Mismatched NCCL version detected : rank " + std::to_string(world.size() - 1)));
    EXPECT_EQ(comm::nccl_loaded_version(), has_trouble() ? "2.27.3" : comm::nccl_header_version());
}

TEST_F(NcclTrouble, AnExchangeThatFailsIsTheErrorOfAllWhoTakePart) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    for (const auto& [trouble, call, text] : {std::tuple{Trouble::error, "ncclSend", "a fake error"},
                                              {Trouble::error, "ncclGroupEnd", "a fake error of the call"},
                                              {Trouble::async_error, "ncclGroupEnd", "a fake error after the call"}}) {
        const auto channel = make_channel();
        plant(trouble, call);
        expect_cause(error_of<Error>([&] { transfer_rows(*channel); }), text);
        fake::behave({});
    }
    const auto channel = make_channel();
    plant(Trouble::never_runs, "ncclSend");
    EXPECT_THAT(error_of<Error>([&] { transfer_rows(*channel); }),
                HasSubstr("a chunk of the output by NCCL did not end within"));
}

TEST_F(NcclTrouble, SendersAloneAndTheRootAreNumberedByNccl) {
    if (world.size() < 3) GTEST_SKIP() << "needs a rank that does not send";
    const int sender = world.size() - 1;
    const auto channel = comm::make_transfer_channel(world, {sender}, ExchangeKind::nccl, device, true, kTimeout_s);
    RowPlace place(narrow_rows());
    if (world.rank() == sender) place.fill(sender);
    if (world.is_root() || world.rank() == sender)
        channel->transfer(std::array{comm::RowTransfer{sender, place.rows()}});
    if (world.is_root()) {
        EXPECT_TRUE(place.holds(sender));
    }
}

}  // namespace
}  // namespace pb
