// Memory that all ranks of one node share. Made by one rank as an anonymous memory file whose pages are reserved at
// once (so too little memory is an error on all ranks, never a SIGBUS or a hang), then mapped by the others.
#pragma once

#include "patchbench/comm/communicator.hpp"

#include <cstddef>
#include <span>

namespace pb {

class NodeMemory {
  public:
    NodeMemory() = default;
    /// Collective over `node` (all ranks of it on one host). Zero-filled, page-aligned. Throws OutOfMemory on all ranks
    /// when the host has not `bytes` to spare.
    NodeMemory(const Communicator& node, size_t bytes);
    ~NodeMemory();
    NodeMemory(NodeMemory&& other) noexcept;
    NodeMemory& operator=(NodeMemory&& other) noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const { return {pointer_, size_}; }

  private:
    std::byte* pointer_ = nullptr;
    size_t size_ = 0;
};

}  // namespace pb
