// Memory that all ranks of one node share: an anonymous memory file that one rank makes and the others open. Its pages
// are reserved before any rank maps it, so that too little memory is an error on all ranks, never a SIGBUS or a hang.
// Each rank reserves an equal share in rank order: that part lies in the memory next to its cores.
#pragma once

#include "comm/communicator.hpp"
#include "comm/shared/shared_file.hpp"

#include "patchbench/base/shared_blocks.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pb::comm {

class NodeMemory {
  public:
    NodeMemory() = default;
    /// Collective over `node` (all ranks of one host), with the same `bytes` on all. Zero-filled and page-aligned;
    /// empty for 0 bytes. Throws OutOfMemory on all ranks when the host, or the job's control group, has less than
    /// `bytes` free; Error on all ranks when a rank cannot reach the others' memory (containers with separate process
    /// namespaces).
    NodeMemory(const Communicator& node, size_t bytes);

    [[nodiscard]] std::span<std::byte> bytes() const { return mapping_.bytes(); }

  private:
    Mapping mapping_;  // the memory is freed with the last rank that holds it
};

/// The file behind it, open on all ranks of the node. Collective over `node`: its first rank makes a file of `bytes` >
/// 0 zeros, and each rank reserves its share of the pages. Throws OutOfMemory or Error on all ranks.
[[nodiscard]] SharedFile make_node_file(const Communicator& node, size_t bytes);

/// Each block lies in an anonymous memory file (comm/shared/shared_file.hpp). Other ranks that ask for one wait while
/// it is filled. Only making the object is collective.
class NodeBlocks final : public SharedBlocks {
  public:
    /// Collective over `node` (all ranks of one host). Throws on all ranks as NodeMemory does.
    explicit NodeBlocks(const Communicator& node);

    /// Writing to a block later is a crash.
    [[nodiscard]] std::shared_ptr<const std::byte> find(const std::string& name, size_t bytes,
                                                        const Fill& fill) override;

  private:
    struct Table;
    struct Held;
    std::shared_ptr<Table> table_;  // as long as a block is held
};

}  // namespace pb::comm
