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
#include <fstream>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

// Blocks that one rank of a node makes and all of them read.

using Block = std::shared_ptr<const std::byte>;

constexpr size_t kBytes = 3000001;

/// What this process holds of memory files, each page divided by the number of processes that have it.
double shared_file_bytes() {
    std::ifstream maps("/proc/self/smaps");
    double kib = 0;
    bool is_file = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find('-') < line.find(' ')) is_file = line.find("memfd:patchbench") != std::string::npos;
        if (is_file && line.starts_with("Pss:")) kib += std::stod(line.substr(4));
    }
    return 1024 * kib;
}

class NodeBlocksTest : public testing::Test {
  protected:
    /// A block of bytes `value`.
    Block find(const std::string& name, std::byte value, size_t bytes = kBytes) {
        return blocks.find(name, bytes, [&](std::span<std::byte> block) {
            EXPECT_EQ(block.size(), bytes);
            EXPECT_EQ(std::count(block.begin(), block.end(), std::byte{0}), static_cast<ptrdiff_t>(bytes));
            std::fill(block.begin(), block.end(), value);
            ++num_filled;
        });
    }
    [[nodiscard]] double filled_by_all() const { return node.sum(num_filled); }

    static bool holds(const Block& block, std::byte value, size_t bytes = kBytes) {
        return std::all_of(block.get(), block.get() + bytes, [&](std::byte each) { return each == value; });
    }

    const Communicator world = Communicator::world();
    const Communicator node = world.node();
    NodeBlocks blocks{node};
    int num_filled = 0;
};

TEST_F(NodeBlocksTest, OneRankMakesABlockAndAllReadIt) {
    const double before = node.sum(shared_file_bytes());
    const Block block = find("weights", std::byte{7});
    EXPECT_TRUE(holds(block, std::byte{7}));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.get()) % 4096, 0U);
    EXPECT_EQ(filled_by_all(), 1);
    node.barrier();
    const double taken = node.sum(shared_file_bytes()) - before;
    EXPECT_NEAR(taken / kBytes, 1, 0.05) << "of all ranks together";
    node.barrier();
}

TEST_F(NodeBlocksTest, NamesAndSizesAreToldApart) {
    const Block first = find("a", std::byte{1}), second = find("b", std::byte{2}), larger = find("a", std::byte{3}, 5);
    EXPECT_TRUE(holds(first, std::byte{1}));
    EXPECT_TRUE(holds(second, std::byte{2}));
    EXPECT_TRUE(holds(larger, std::byte{3}, 5));
    EXPECT_TRUE(holds(find("b", std::byte{9}), std::byte{2})) << "held here already";
    EXPECT_EQ(filled_by_all(), 3);
}

TEST_F(NodeBlocksTest, ABlockStaysAsLongAsAnyRankHoldsIt) {
    Block block;
    if (node.is_root()) block = find("weights", std::byte{4});
    node.barrier();
    if (!node.is_root()) block = find("weights", std::byte{5});
    node.barrier();
    if (node.is_root() && node.size() > 1) {
        block.reset();  // by the rank that made it
        block = find("weights", std::byte{6});
    }
    EXPECT_TRUE(holds(block, std::byte{4}));
    EXPECT_EQ(filled_by_all(), 1);
    block.reset();
    node.barrier();
    if (node.is_root()) block = find("weights", std::byte{8});
    EXPECT_TRUE(!block || holds(block, std::byte{8}));
    EXPECT_EQ(filled_by_all(), 2);
}

TEST_F(NodeBlocksTest, ABlockThatOneRankCannotMakeIsMadeByAnother) {
    Block block;
    if (node.is_root()) {
        EXPECT_THROW(block = blocks.find("weights", kBytes, [](auto) { throw OutOfMemory("no more"); }), OutOfMemory);
    }
    node.barrier();
    if (!node.is_root()) block = find("weights", std::byte{2});
    node.barrier();
    if (node.is_root()) block = find("weights", std::byte{2});
    EXPECT_TRUE(holds(block, std::byte{2}));
    EXPECT_EQ(filled_by_all(), 1);
}

TEST_F(NodeBlocksTest, MoreThanTheHostHasIsOutOfMemory) {
    EXPECT_THROW((void)find("weights", std::byte{1}, size_t{1} << 50), OutOfMemory);
    EXPECT_TRUE(holds(find("weights", std::byte{1}), std::byte{1}));
}

TEST_F(NodeBlocksTest, ABlockCannotBeWritten) {
    const Block block = find("weights", std::byte{1});
    std::ifstream maps("/proc/self/maps");
    std::string rights;
    for (std::string line; std::getline(maps, line);) {
        size_t end = 0;
        const size_t begin = std::stoul(line, &end, 16);
        if (begin == reinterpret_cast<uintptr_t>(block.get())) rights = line.substr(line.find(' ') + 1, 4);
    }
    EXPECT_EQ(rights, "r--s");
    node.barrier();
}

TEST_F(NodeBlocksTest, PlacesOfBlocksThatAreGoneServeAgain) {
    for (int i = 0; i < 20; ++i) (void)find(std::to_string(i), static_cast<std::byte>(i), 100);
    node.barrier();
    num_filled = 0;
    Block block;
    if (node.is_root()) block = find("weights", std::byte{3});
    node.barrier();
    if (!node.is_root()) block = find("weights", std::byte{4});
    EXPECT_TRUE(holds(block, std::byte{3}));
    EXPECT_EQ(filled_by_all(), 1);
    node.barrier();
}

TEST_F(NodeBlocksTest, ManyBlocksOfARankAreServed) {
    std::vector<Block> held;
    for (int i = 0; i < 20; ++i) held.push_back(find(std::to_string(i), static_cast<std::byte>(i), 100));
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(holds(held[static_cast<size_t>(i)], static_cast<std::byte>(i), 100));
}

}  // namespace
}  // namespace pb::comm
