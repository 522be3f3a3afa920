#include "comm/shared/shared_file.hpp"

#include "base/user_paths.hpp"
#include "device/host_memory.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string>

namespace pb::comm {
namespace {

/// Bytes to reserve at a time: free memory is checked before each piece, and a signal makes the kernel undo one piece
/// only.
constexpr size_t kPiece = size_t{256} << 20;

std::string mib(size_t bytes) { return fmt::format("{} MiB", (bytes >> 20) + 1); }

[[noreturn]] void fail(const std::string& what, int error) {
    const std::string message = "memory shared by the ranks of a node: " + what + ": " + std::strerror(error);
    if (error == ENOMEM || error == ENOSPC)
        throw OutOfMemory(message + "; use fewer ranks per node or a smaller image");
    throw Error(message +
                (error == EFBIG ? "; the shell's limit on files (ulimit -f) holds for it, too: raise it" : ""));
}

/// A lock of the open file, not of the process: the kernel releases it when the file is closed.
int set_lock(int descriptor, short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return fcntl(descriptor, F_OFD_SETLKW, &lock);
}

struct stat status_of(int descriptor) {
    struct stat status {};
    if (fstat(descriptor, &status) != 0) fail("fstat", errno);
    return status;
}

}  // namespace

void require_host_memory(size_t bytes) {
    if (device::fits_host_memory(bytes)) return;
    const auto available = static_cast<size_t>(device::available_host_memory_bytes().value_or(0));
    throw OutOfMemory("the ranks of a node need " + mib(bytes) + " of shared host memory but " + mib(available) +
                      " are free (or left to the job's control group); use a smaller image, or ask for more memory");
}

SharedFile::SharedFile(size_t bytes) : bytes_(bytes) {
    if (bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) fail("a file of " + mib(bytes), ENOMEM);
    descriptor_ = Descriptor(memfd_create("patchbench", MFD_CLOEXEC));
    if (descriptor_.number() < 0) require_descriptors("memory shared by the ranks of a node");
    if (descriptor_.number() < 0) fail("memfd_create", errno);
    if (ftruncate(descriptor_.number(), static_cast<off_t>(bytes)) != 0) fail("ftruncate to " + mib(bytes), errno);
}

SharedFile::SharedFile(const SharedFileAddress& address) : bytes_(address.bytes) {
    const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.descriptor);
    const std::string advice = " (start all ranks of a host as one user and inside one container)";
    descriptor_ = Descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (descriptor_.number() < 0) require_descriptors(path);
    if (descriptor_.number() < 0) fail("cannot open " + path + advice, errno);
    const struct stat status = status_of(descriptor_.number());
    require(status.st_dev == address.device && status.st_ino == address.inode,
            "memory shared by the ranks of a node: " + path + " is another process's file" + advice);
}

SharedFileAddress SharedFile::address() const {
    const struct stat status = status_of(descriptor_.number());
    return {getpid(), descriptor_.number(), status.st_dev, status.st_ino, bytes_};
}

void SharedFile::reserve(size_t begin, size_t end) const {
    while (begin < end) {
        const size_t piece = std::min(kPiece, end - begin);
        require_host_memory(piece);
        const int error = posix_fallocate(descriptor_.number(), static_cast<off_t>(begin), static_cast<off_t>(piece));
        if (error == EINTR) continue;
        if (error != 0) fail("reserving " + mib(piece), error);
        begin += piece;
    }
}

Mapping SharedFile::map() const {
    Mapping mapping = Mapping::map(descriptor_.number(), bytes_);
    if (mapping.bytes().empty()) fail("mmap of " + mib(bytes_), errno);
    return mapping;
}

void protect(const Mapping& mapping) {
    if (mprotect(mapping.bytes().data(), mapping.bytes().size(), PROT_READ) != 0) fail("mprotect", errno);
}

SharedFileLock::SharedFileLock(const SharedFile& file) : descriptor_(file.descriptor_.number()) {
    while (set_lock(descriptor_, F_WRLCK) != 0)
        if (errno != EINTR) fail("a lock", errno);
}

SharedFileLock::~SharedFileLock() { (void)set_lock(descriptor_, F_UNLCK); }

}  // namespace pb::comm
