// Memory that all ranks of one node share: an anonymous memory file that one rank makes and the others open. Its pages
// are reserved before any rank maps it, so that too little memory is an error on all ranks, never a SIGBUS or a hang.
// Each rank reserves an equal share in rank order: that part lies in the memory next to its cores.
#pragma once

#include "base/descriptor.hpp"
#include "comm/communicator.hpp"

#include "patchbench/base/shared_blocks.hpp"

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pb::comm {

// An anonymous memory file (memfd) that several processes of one host map. The kernel frees it with the last process
// that holds it, however that ends.

/// What another process needs to open the file: plain values that are sent between ranks.
struct SharedFileAddress {
    pid_t pid = 0;
    int descriptor = -1;
    dev_t device = 0;  // with inode: proves that the opened file is this one
    ino_t inode = 0;
    size_t bytes = 0;
};

class SharedFile {
  public:
    SharedFile() = default;
    /// Makes a file of `bytes` zeros without taking memory for them.
    explicit SharedFile(size_t bytes);
    /// Opens the file of another process of this host and user, through /proc.
    explicit SharedFile(const SharedFileAddress& address);

    [[nodiscard]] SharedFileAddress address() const;
    /// Allocates the pages of [begin, end) now, so that no later access can fail. Throws OutOfMemory.
    void reserve(size_t begin, size_t end) const;
    /// Maps the whole file for reading and writing.
    [[nodiscard]] Mapping map() const;

  private:
    friend class SharedFileLock;
    Descriptor descriptor_;
    size_t bytes_ = 0;
};

/// From now on this process can only read `mapping`.
void protect(const Mapping& mapping);

/// Keeps the other processes that hold the file from locking it; waits until none does. The lock of a process that dies
/// is released. Not for threads of one process.
class SharedFileLock {
  public:
    /// `file` must outlive it.
    explicit SharedFileLock(const SharedFile& file);
    ~SharedFileLock();
    SharedFileLock(const SharedFileLock&) = delete;
    SharedFileLock& operator=(const SharedFileLock&) = delete;

  private:
    int descriptor_;
};

/// Throws OutOfMemory unless this host and its control group have `bytes` and a margin free: when memory runs out, the
/// kernel kills processes instead of failing the call.
void require_host_memory(size_t bytes);

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

/// Each block lies in a SharedFile. Other ranks that ask for one wait while it is filled. Only making the object is
/// collective.
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
