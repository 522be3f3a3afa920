// An anonymous memory file (memfd) that processes of one host map together.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace pb {

/// Where a process finds the file of another one: plain values, sent between ranks.
struct SharedFileAddress {
    pid_t pid = 0;
    int descriptor = -1;
    dev_t device = 0;  // with inode: proves that what was opened is this file
    ino_t inode = 0;
    size_t bytes = 0;
};

class SharedFile {
  public:
    SharedFile() = default;
    /// Makes a file of `bytes` zeros, none of them in memory yet.
    explicit SharedFile(size_t bytes);
    /// Opens the file of another process of this host and user, through /proc.
    explicit SharedFile(const SharedFileAddress& address);
    ~SharedFile();
    SharedFile(SharedFile&& other) noexcept;
    SharedFile& operator=(SharedFile&& other) noexcept;

    [[nodiscard]] SharedFileAddress address() const;
    /// Takes pages for [begin, end) now, so that no later access can fail. Throws OutOfMemory.
    void reserve(size_t begin, size_t end) const;
    /// Maps the whole file for reading and writing; it stays mapped when this object has gone.
    [[nodiscard]] std::byte* map() const;

  private:
    int descriptor_ = -1;
    size_t bytes_ = 0;
};

/// Throws OutOfMemory unless `bytes` are to spare on this host and in its control group, with a margin: the kernel ends
/// processes instead of failing calls when it takes the last page.
void require_host_memory(size_t bytes);

}  // namespace pb
