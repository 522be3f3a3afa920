#include "comm/node_memory.hpp"

#include "comm/node_file.hpp"
#include "comm/step.hpp"

#include <sys/mman.h>

#include <utility>

namespace pb {

NodeMemory::NodeMemory(const Communicator& node, size_t bytes) {
    if (node.max(static_cast<double>(bytes)) == 0) return;
    const SharedFile file = make_node_file(node, bytes);
    NodeMemory mapped;
    mpi::step_together(node, [&] {
        mapped.pointer_ = file.map();
        mapped.size_ = bytes;
    });
    *this = std::move(mapped);
}

NodeMemory::~NodeMemory() {
    if (pointer_ != nullptr) munmap(pointer_, size_);
}

NodeMemory::NodeMemory(NodeMemory&& other) noexcept
    : pointer_(std::exchange(other.pointer_, nullptr)), size_(std::exchange(other.size_, 0)) {}

NodeMemory& NodeMemory::operator=(NodeMemory&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(size_, other.size_);
    return *this;
}

}  // namespace pb
