// Blocks of memory that processes of a host share: values that all of them need and none changes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace pb {

class SharedBlocks {
  public:
    virtual ~SharedBlocks() = default;
    using Fill = std::function<void(std::span<std::byte>)>;

    /// The block of this name, page-aligned, as long as the pointer is held. The first process that asks has `fill`
    /// write to `bytes` > 0 zeros; no one writes later. Throws OutOfMemory, and what `fill` throws: then the next
    /// process that asks makes the block.
    [[nodiscard]] virtual std::shared_ptr<const std::byte> find(const std::string& name, size_t bytes,
                                                                const Fill& fill) = 0;
};

}  // namespace pb
