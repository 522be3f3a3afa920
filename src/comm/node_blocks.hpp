// Values that processes of one node need and none changes, made once and read by all: each block lies in an anonymous
// memory file (comm/shared_file.hpp). Which rank makes a block is whoever asks first: only making the object is
// collective.
#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace pb::comm {

class NodeBlocks {
  public:
    /// Collective over `node` (all ranks of one host). Throws on all ranks as NodeMemory does.
    explicit NodeBlocks(const Communicator& node);

    using Fill = std::function<void(std::span<std::byte>)>;

    /// The block of this name, which is kept as long as any rank has a pointer to it. Where no rank has it, `fill` gets
    /// `bytes` > 0 zeros here, while other ranks that ask for a block wait. Page-aligned; writing to it later is a
    /// crash. Throws OutOfMemory when the host has too little, and what `fill` throws: then the next rank that asks
    /// makes the block.
    [[nodiscard]] std::shared_ptr<const std::byte> find(const std::string& name, size_t bytes, const Fill& fill);

  private:
    struct Table;
    struct Held;
    std::shared_ptr<Table> table_;  // as long as a block is held
};

}  // namespace pb::comm
