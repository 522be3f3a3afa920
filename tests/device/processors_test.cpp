#include "device/processors.hpp"

#include "base/text.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

namespace pb::device {
namespace {

namespace fs = std::filesystem;
using Numbers = std::vector<int>;

/// A /sys that is made up: two packages of two cores with two threads each, numbered as Linux does.
class ProcessorLayoutTest : public testing::Test {
  protected:
    ProcessorLayoutTest() {
        write("devices/system/cpu/online", "0-7");
        for (int processor = 0; processor < 8; ++processor) {
            const int core = processor % 4;
            write("devices/system/cpu/cpu" + std::to_string(processor) + "/topology/thread_siblings_list",
                  std::to_string(core) + "," + std::to_string(core + 4));
        }
        write("devices/system/node/online", "0-1");
        write("devices/system/node/node0/cpulist", "0-1,4-5");
        write("devices/system/node/node1/cpulist", "2-3,6-7");
        write("bus/pci/devices/0000:3b:00.0/numa_node", "1");
        write("bus/pci/devices/0000:3c:00.0/numa_node", "0");
        write("bus/pci/devices/0000:5e:00.0/numa_node", "-1");
    }

    void write(const std::string& name, const std::string& text) const { home.write(name, text + "\n"); }

    const test::TemporaryFolder home;
    const fs::path sys = home.path();
};

TEST_F(ProcessorLayoutTest, ThreadsOfOneCoreAreOneCore) {
    const ProcessorLayout layout(sys);
    EXPECT_EQ(layout.processors(), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(layout.cores_of({0, 4}), Numbers{0});
    EXPECT_EQ(layout.cores_of({5, 6, 7}), (Numbers{1, 2, 3}));
    EXPECT_EQ(layout.cores_of(layout.processors()), (Numbers{0, 1, 2, 3}));
}

TEST_F(ProcessorLayoutTest, MemoryNodesLieBesideProcessorsAndDevices) {
    const ProcessorLayout layout(sys);
    EXPECT_EQ(layout.memory_nodes_of({0, 5}), Numbers{0});
    EXPECT_EQ(layout.memory_nodes_of({1, 2}), (Numbers{0, 1}));
    EXPECT_EQ(layout.memory_node_of_device("0000:3b:00.0"), 1);
    EXPECT_EQ(layout.memory_node_of_device("0000:3c:00.0"), 0);
    EXPECT_EQ(layout.memory_node_of_device("0000:5e:00.0"), std::nullopt);
    EXPECT_EQ(layout.memory_node_of_device("0000:ff:00.0"), std::nullopt);
}

TEST_F(ProcessorLayoutTest, WithoutTheKernelsWordEveryProcessorIsACore) {
    const ProcessorLayout layout(sys / "nowhere");
    EXPECT_EQ(layout.processors(), Numbers{});
    EXPECT_EQ(layout.cores_of({1, 3}), (Numbers{1, 3}));
    EXPECT_EQ(layout.memory_nodes_of({1}), Numbers{});
}

TEST(ProcessorList, IsTheInverseOfItsText) {
    EXPECT_EQ(parse_processors("0-3,8"), (Numbers{0, 1, 2, 3, 8}));
    for (const auto* text : {"", "0", "3-5", "0-1,4-5,7"}) EXPECT_EQ(runs_text(parse_processors(text), ","), text);
    for (const auto* text : {"x", "1-", "-3", "1-9999999999", "0-2000000", "0-3,y", "3-2"})
        EXPECT_TRUE(parse_processors(text).empty());
}

TEST(ProcessorLayoutHere, ThisProcessHasACore) { EXPECT_FALSE(ProcessorLayout().cores_of(affinity()).empty()); }

}  // namespace
}  // namespace pb::device
