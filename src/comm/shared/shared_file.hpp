// An anonymous memory file (memfd) that several processes of one host map. The kernel frees it with the last process
// that holds it, however that ends.
#pragma once

#include "base/descriptor.hpp"

#include <sys/types.h>

#include <cstddef>

namespace pb::comm {

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

}  // namespace pb::comm
