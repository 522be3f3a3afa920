#include "comm/communicator.hpp"

#include "comm/mpi_calls.hpp"
#include "comm/shared/node_memory.hpp"
#include "support/messages.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <thread>

namespace pb::comm {
namespace {

/// Differs from rank to rank and from place to place.
std::vector<std::byte> pattern(int rank, size_t length) {
    std::vector<std::byte> bytes(length);
    for (size_t i = 0; i < length; ++i) bytes[i] = static_cast<std::byte>(31 * static_cast<size_t>(rank) + 7 * i + 1);
    return bytes;
}

class CommunicatorTest : public testing::Test {
  protected:
    [[nodiscard]] int next() const { return (world.rank() + 1) % world.size(); }
    [[nodiscard]] int previous() const { return (world.rank() + world.size() - 1) % world.size(); }
    const Communicator world = Communicator::world();
};

TEST_F(CommunicatorTest, NullHasNoRanksAndRefusesUse) {
    const Communicator null;
    EXPECT_TRUE(null.is_null());
    EXPECT_EQ(null.size(), 0);
    EXPECT_THROW((void)null.rank(), Error);
    EXPECT_THROW(null.barrier(), Error);
}

TEST_F(CommunicatorTest, SplitGroupsByColourInOrderOfKey) {
    const int colour = world.rank() % 2;
    const Communicator half = world.split(colour, -world.rank());
    EXPECT_EQ(half.size(), (world.size() + 1 - colour) / 2);
    const auto members = half.all_gather(std::to_string(world.rank()));
    EXPECT_EQ(members[static_cast<size_t>(half.rank())], std::to_string(world.rank()));
    EXPECT_TRUE(std::is_sorted(members.rbegin(), members.rend()));
}

/// MPI has only so many communicators. It calls back when it frees one.
TEST_F(CommunicatorTest, IsFreedWithItsLastOwner) {
    int num_freed = 0, key = MPI_KEYVAL_INVALID;
    const auto count = [](MPI_Comm, int, void* counter, void*) {
        ++*static_cast<int*>(counter);
        return MPI_SUCCESS;
    };
    ASSERT_EQ(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count, &key, nullptr), MPI_SUCCESS);
    {
        const Communicator part = world.split(0, 0);
        ASSERT_EQ(MPI_Comm_set_attr(mpi::native(part), key, &num_freed), MPI_SUCCESS);
        EXPECT_EQ(num_freed, 0);
    }
    EXPECT_EQ(num_freed, 1);
    MPI_Comm_free_keyval(&key);
}

TEST_F(CommunicatorTest, NegativeColourIsInNoPart) {
    const bool takes_part = world.rank() == 0;
    const Communicator part = world.split(takes_part ? 0 : -1, 0);
    EXPECT_EQ(part.is_null(), !takes_part);
    EXPECT_EQ(part.size(), takes_part ? 1 : 0);
}

TEST_F(CommunicatorTest, NodeHoldsTheRanksOfThisHost) {
    const Communicator node = world.node();
    EXPECT_EQ(node.size(), world.size());  // these tests run on one host
    for (const auto& host : node.all_gather(host_name())) EXPECT_EQ(host, host_name());
}

TEST_F(CommunicatorTest, NobodyPassesABarrierBeforeAllHaveCome) {
    for (const bool sleeping : {false, true})
        for (int late = 0; late < world.size(); ++late) {
            const NodeMemory memory(world, sizeof(std::atomic<int>));
            auto& arrived = *reinterpret_cast<std::atomic<int>*>(memory.bytes().data());
            if (world.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            ++arrived;
            sleeping ? world.sleeping_barrier() : world.barrier();
            EXPECT_EQ(arrived.load(), world.size());
        }
}

TEST_F(CommunicatorTest, BroadcastGivesTheRootsValueToAll) {
    for (int root = 0; root < world.size(); ++root) {
        const std::string text(static_cast<size_t>(root) * 1000, static_cast<char>('a' + root));
        EXPECT_EQ(world.broadcast(world.rank() == root ? text : "not this", root), text);
        EXPECT_EQ(world.broadcast(world.rank() + 0.5, root), root + 0.5);
    }
}

TEST_F(CommunicatorTest, BytesSurviveAnyCut) {
    for (const size_t length : {0U, 1U, 6U, 7U, 8U, 100U})
        for (const int64_t limit : {1, 7, 1000}) {
            auto broadcast = world.rank() == 0 ? pattern(0, length) : std::vector<std::byte>(length);
            mpi::broadcast_bytes(broadcast, 0, world, limit);
            EXPECT_EQ(broadcast, pattern(0, length));

            std::vector<std::byte> received(length);
            const auto sent = pattern(world.rank(), length);
            // The last rank receives first: a ring of blocking sends then ends whatever MPI buffers.
            const bool last = world.rank() == world.size() - 1;
            if (world.size() == 1) continue;
            if (last) mpi::receive_bytes(received, previous(), 3, world, limit);
            mpi::send_bytes(sent, next(), 3, world, limit);
            if (!last) mpi::receive_bytes(received, previous(), 3, world, limit);
            EXPECT_EQ(received, pattern(previous(), length));
        }
}

TEST_F(CommunicatorTest, AShorterMessageThanExpectedIsAnError) {
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    if (world.rank() == 1) world.send(pattern(1, 5), 0, 9);
    if (world.rank() == 0) {
        std::vector<std::byte> received(6);
        EXPECT_THROW(world.receive(received, 1, 9), Error);
    }
    world.barrier();
}

TEST_F(CommunicatorTest, GatherKeepsUnevenRowsWholeInRankOrderUnderAnyCut) {
    const auto length = [](int rank) { return static_cast<size_t>(rank % 3) * 10 + (rank == 3 ? 1 : 0); };
    const auto mine = pattern(world.rank(), length(world.rank()));
    for (const int64_t limit : {1, 7, 16, 100000})
        for (int root = -1; root < world.size(); ++root) {
            const auto to = root < 0 ? std::nullopt : std::optional(root);
            const auto rows = mpi::gather_bytes(mine, to, world, limit);
            const bool receives = root < 0 || root == world.rank();
            ASSERT_EQ(rows.size(), receives ? static_cast<size_t>(world.size()) : 0);
            for (size_t rank = 0; rank < rows.size(); ++rank)
                EXPECT_EQ(rows[rank], pattern(static_cast<int>(rank), length(static_cast<int>(rank)))) << limit;
        }
}

TEST_F(CommunicatorTest, GatherOfFiguresAndTexts) {
    const std::vector<double> mine(static_cast<size_t>(world.rank()), world.rank() + 0.25);
    const auto rows = world.gather(mine);
    ASSERT_EQ(rows.size(), world.is_root() ? static_cast<size_t>(world.size()) : 0);
    for (size_t rank = 0; rank < rows.size(); ++rank)
        EXPECT_EQ(rows[rank], std::vector<double>(rank, static_cast<double>(rank) + 0.25));

    const std::string text(static_cast<size_t>(world.rank()), 'x');
    EXPECT_EQ(world.gather(text).size(), rows.size());
    const auto texts = world.all_gather(text);
    ASSERT_EQ(texts.size(), static_cast<size_t>(world.size()));
    for (size_t rank = 0; rank < texts.size(); ++rank) EXPECT_EQ(texts[rank], std::string(rank, 'x'));
}

TEST_F(CommunicatorTest, ReductionsAreTheSameOnAllRanks) {
    const double mine = world.rank() - 1.5;
    EXPECT_EQ(world.max(mine), world.size() - 2.5);
    EXPECT_EQ(world.min(mine), -1.5);
    EXPECT_EQ(world.sum(mine), world.size() * (world.size() - 1) / 2.0 - 1.5 * world.size());
    EXPECT_EQ(world.max(-std::numeric_limits<double>::infinity()), -std::numeric_limits<double>::infinity());
}

TEST_F(CommunicatorTest, ANanOnOneRankIsNanOnAll) {
    for (int odd_one = 0; odd_one < world.size(); ++odd_one) {
        const double mine = world.rank() == odd_one ? std::numeric_limits<double>::quiet_NaN() : world.rank();
        EXPECT_TRUE(std::isnan(world.max(mine)));
        EXPECT_TRUE(std::isnan(world.min(mine)));
    }
}

TEST_F(CommunicatorTest, AgreeIsSilentWhenAllIsWell) { EXPECT_EQ(world.agree(std::nullopt), std::nullopt); }

TEST_F(CommunicatorTest, AgreeTellsAllRanksWhoMetWhat) {
    const int last = world.size() - 1;
    if (last == 0) {
        EXPECT_EQ(world.agree("no memory"), "no memory") << "there are no others";
        return;
    }
    const auto only_last = world.rank() == last ? std::optional<std::string>("no memory") : std::nullopt;
    EXPECT_EQ(world.agree(only_last), "rank " + std::to_string(last) + "@" + host_name() + ": no memory");

    const auto everybody = world.agree("the same");
    EXPECT_EQ(everybody, "ranks 0-" + std::to_string(last) + "@" + host_name() + ": the same");

    const auto empty = world.agree(world.rank() == 0 ? std::optional<std::string>("") : std::nullopt);
    EXPECT_EQ(empty, "rank 0@" + host_name() + ": ");
}

TEST(RankTexts, EqualTextsOnceWithTheirRanksByHost) {
    std::vector<RankText> texts;
    const auto say = [&](int rank, const char* host, const char* text) { texts.push_back({{rank, host}, text}); };
    say(0, "a", "x");
    say(1, "a", "y");
    say(2, "a", "x");
    say(3, "a", "x");
    say(4, "b", "x");
    say(6, "b", "x");
    EXPECT_EQ(merge_texts(texts), "ranks 0, 2-3@a, 4, 6@b: x\nrank 1@a: y");
    EXPECT_EQ(merge_texts({}), "");
}

TEST_F(CommunicatorTest, MpiErrorsAreThrownWithTheirPlace) {
    const std::vector<std::byte> bytes(1);
    EXPECT_THAT(error_of<Error>([&] { world.send(bytes, world.size(), 0); }),
                testing::AllOf(testing::HasSubstr("MPI_ERR_RANK"), testing::HasSubstr("mpi_calls.cpp:")));
}

TEST(MpiVersion, HeaderAndLibraryAreNamed) {
    EXPECT_EQ(mpi_header_version()[0], '3');
    EXPECT_FALSE(mpi_library_version().empty());
    EXPECT_EQ(mpi_library_version().find('\n'), std::string::npos);
}

}  // namespace
}  // namespace pb::comm
