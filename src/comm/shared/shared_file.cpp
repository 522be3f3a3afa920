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
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

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
    throw Error(message);
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
    constexpr size_t kMarginPart = 16;  // 1/16 of the free memory is left for page tables and other processes
    const auto reported = device::available_host_memory_bytes();
    if (!reported) return;
    const auto available = static_cast<size_t>(std::max<int64_t>(0, *reported));
    if (bytes <= available - available / kMarginPart) return;
    throw OutOfMemory("the ranks of a node need " + mib(bytes) + " of shared host memory but " + mib(available) +
                      " are free (or left to the job's control group); use a smaller image, or ask for more memory");
}

SharedFile::SharedFile(size_t bytes) : bytes_(bytes) {
    if (bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) fail("a file of " + mib(bytes), ENOMEM);
    SharedFile made;
    made.descriptor_ = memfd_create("patchbench", MFD_CLOEXEC);
    if (made.descriptor_ < 0) require_descriptors("memory shared by the ranks of a node");
    if (made.descriptor_ < 0) fail("memfd_create", errno);
    if (ftruncate(made.descriptor_, static_cast<off_t>(bytes)) != 0) fail("ftruncate to " + mib(bytes), errno);
    std::swap(descriptor_, made.descriptor_);
}

SharedFile::SharedFile(const SharedFileAddress& address) : bytes_(address.bytes) {
    const std::string path = fmt::format("/proc/{}/fd/{}", address.pid, address.descriptor);
    const std::string advice = " (start all ranks of a host as one user and inside one container)";
    SharedFile opened;
    opened.descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened.descriptor_ < 0) require_descriptors(path);
    if (opened.descriptor_ < 0) fail("cannot open " + path + advice, errno);
    const struct stat status = status_of(opened.descriptor_);
    require(status.st_dev == address.device && status.st_ino == address.inode,
            "memory shared by the ranks of a node: " + path + " is another process's file" + advice);
    std::swap(descriptor_, opened.descriptor_);
}

SharedFile::~SharedFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

SharedFile::SharedFile(SharedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedFile& SharedFile::operator=(SharedFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

SharedFileAddress SharedFile::address() const {
    const struct stat status = status_of(descriptor_);
    return {getpid(), descriptor_, status.st_dev, status.st_ino, bytes_};
}

void SharedFile::reserve(size_t begin, size_t end) const {
    while (begin < end) {
        const size_t piece = std::min(kPiece, end - begin);
        require_host_memory(piece);
        const int error = posix_fallocate(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(piece));
        if (error == EINTR) continue;
        if (error != 0) fail("reserving " + mib(piece), error);
        begin += piece;
    }
}

SharedMapping SharedFile::map() const {
    void* pointer = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (pointer == MAP_FAILED) fail("mmap of " + mib(bytes_), errno);
    return {static_cast<std::byte*>(pointer), bytes_};
}

SharedMapping::~SharedMapping() {
    if (pointer_ != nullptr) munmap(pointer_, size_);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : pointer_(std::exchange(other.pointer_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
    std::swap(pointer_, other.pointer_);
    std::swap(size_, other.size_);
    return *this;
}

void SharedMapping::protect() const {
    if (mprotect(pointer_, size_, PROT_READ) != 0) fail("mprotect", errno);
}

SharedFileLock::SharedFileLock(const SharedFile& file) : descriptor_(file.descriptor_) {
    while (set_lock(descriptor_, F_WRLCK) != 0)
        if (errno != EINTR) fail("a lock", errno);
}

SharedFileLock::~SharedFileLock() { (void)set_lock(descriptor_, F_UNLCK); }

}  // namespace pb::comm
