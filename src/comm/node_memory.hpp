// Memory that all ranks of one node share: an anonymous memory file, made by one rank, opened by the others, its pages
// reserved before anybody maps it (so too little memory is an error on all ranks, never a SIGBUS or a hang). Each rank
// reserves an equal share in rank order: that part lies in the memory next to its cores.
#pragma once

#include "comm/communicator.hpp"

#include <cstddef>
#include <span>

namespace pb {

class NodeMemory {
  public:
    NodeMemory() = default;
    /// Collective over `node` (all ranks of it on one host), with the same `bytes` on all. Zero-filled, page-aligned;
    /// no memory for 0 bytes. Throws OutOfMemory on all ranks when the host, or the job's control group, has not
    /// `bytes` to spare; Error on all ranks when a rank cannot reach the others' memory (containers with process
    /// namespaces apart).
    NodeMemory(const Communicator& node, size_t bytes);
    ~NodeMemory();  // not collective: the memory goes with the last rank that holds it
    NodeMemory(NodeMemory&& other) noexcept;
    NodeMemory& operator=(NodeMemory&& other) noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const { return {pointer_, size_}; }

  private:
    std::byte* pointer_ = nullptr;
    size_t size_ = 0;
};

}  // namespace pb
