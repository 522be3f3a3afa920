#include "run/point/shared_weights.hpp"

#include "base/fault.hpp"
#include "comm/node_blocks.hpp"

#include "patchbench/base/error.hpp"

namespace pb::run {

namespace {

class SharedOnNode final : public engine::SharedBlocks {
  public:
    explicit SharedOnNode(const comm::Communicator& node) : blocks_(node) {}

    [[nodiscard]] std::shared_ptr<const std::byte> find(const std::string& name, size_t bytes,
                                                        const Fill& fill) override {
        return blocks_.find(name, bytes, [&fill](std::span<std::byte> block) {
            inject_fault("pack");
            fill(block);
        });
    }

  private:
    comm::NodeBlocks blocks_;
};

}  // namespace

std::shared_ptr<engine::SharedBlocks> make_shared_blocks(const comm::Communicator& world,
                                                         const plan::Topology& topology) {
    const comm::Communicator node =
        world.split(topology.ranks.at(static_cast<size_t>(world.rank())).node, world.rank());
    if (node.size() == 1) return nullptr;
    try {
        return std::make_shared<SharedOnNode>(node);
    } catch (const Error&) {  // on all ranks of the node, such as those in containers of their own
        return nullptr;
    }
}

}  // namespace pb::run
