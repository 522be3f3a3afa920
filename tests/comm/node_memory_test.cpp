#include "comm/shared/node_memory.hpp"

#include "comm/collective_step.hpp"
#include "device/host_memory.hpp"
#include "support/file_size_limit.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace pb::comm {
namespace {

class NodeMemoryTest : public testing::Test {
  protected:
    const Communicator world = Communicator::world();
    const Communicator node = world.node();
};

TEST_F(NodeMemoryTest, WhatOneRankWritesAllRanksRead) {
    for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, size_t{1000003}}) {
        const NodeMemory memory(node, bytes);
        const auto span = memory.bytes();
        ASSERT_EQ(span.size(), bytes);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(span.data()) % 4096, 0U);
        EXPECT_TRUE(std::all_of(span.begin(), span.end(), [](std::byte value) { return value == std::byte{0}; }));
        node.barrier();
        for (size_t i = static_cast<size_t>(node.rank()); i < bytes; i += static_cast<size_t>(node.size()))
            span[i] = static_cast<std::byte>(node.rank() + 1);
        node.barrier();
        size_t wrong = 0;
        for (size_t i = 0; i < bytes; ++i)
            wrong += span[i] != static_cast<std::byte>(i % static_cast<size_t>(node.size()) + 1);
        EXPECT_EQ(wrong, 0U);
        node.barrier();
    }
}

TEST_F(NodeMemoryTest, NoBytesIsNoMemory) { EXPECT_TRUE(NodeMemory(node, 0).bytes().empty()); }

TEST_F(NodeMemoryTest, MoreThanThereIsIsOutOfMemoryOnAllRanks) {
    const size_t available =
        static_cast<size_t>(node.min(static_cast<double>(device::available_host_memory_bytes().value())));
    const test::FileSizeLimit limit(1 << 20);  // were the memory not asked for first, the machine would run out of it
    for (const size_t bytes :
         {2 * available, size_t{1} << 50, std::numeric_limits<size_t>::max() / 2, std::numeric_limits<size_t>::max()})
        EXPECT_THROW(NodeMemory(node, bytes), OutOfMemory) << bytes;
    EXPECT_EQ(NodeMemory(node, 100).bytes().size(), 100U);  // and life goes on
}

TEST_F(NodeMemoryTest, EveryPageIsTakenBeforeItIsTouched) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    for (const size_t num_pages : {size_t{1}, size_t{5}, size_t{4099}}) {
        const SharedFile file = make_node_file(node, num_pages * page - 1);
        const SharedFileAddress address = file.address();
        struct stat status {};
        ASSERT_EQ(stat(("/proc/self/fd/" + std::to_string(address.descriptor)).c_str(), &status), 0);
        EXPECT_EQ(static_cast<size_t>(status.st_blocks) * 512, num_pages * page);
        node.barrier();
    }
}

TEST_F(NodeMemoryTest, DifferentSizesAreAnErrorOnAllRanks) {
    if (node.size() == 1) GTEST_SKIP() << "needs two ranks";
    EXPECT_THROW(NodeMemory(node, node.is_root() ? 100 : 200), Error);
    try {
        const NodeMemory memory(node, node.is_root() ? 100 : 200);
    } catch (const Error& error) {
        // Who met it leaves the rank to whoever prints it; the others' text names the ranks.
        const bool elsewhere = dynamic_cast<const FailedElsewhere*>(&error) != nullptr;
        EXPECT_EQ(elsewhere, node.is_root());
        EXPECT_EQ(std::string(error.what()).starts_with("rank"), elsewhere) << error.what();
    }
}

TEST_F(NodeMemoryTest, MovesLeaveOneOwner) {
    NodeMemory first(node, 10);
    std::byte* const pointer = first.bytes().data();
    NodeMemory second(std::move(first));
    EXPECT_EQ(second.bytes().data(), pointer);
    NodeMemory third;
    third = std::move(second);
    EXPECT_EQ(third.bytes().data(), pointer);
    third.bytes()[9] = std::byte{1};
}

TEST(SharedFile, AnAddressOfAnotherFileIsRefused) {
    const SharedFile file(100);
    SharedFileAddress address = file.address();
    EXPECT_NO_THROW(SharedFile{address});
    ++address.inode;
    EXPECT_THROW(SharedFile{address}, Error);
    address = file.address();
    address.descriptor = 1 << 20;
    EXPECT_THROW(SharedFile{address}, Error);
}

}  // namespace
}  // namespace pb::comm
