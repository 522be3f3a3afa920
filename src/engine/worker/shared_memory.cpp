#include "engine/worker/shared_memory.hpp"

#include "base/user_paths.hpp"
#include "device/host_memory.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>

namespace pb::engine::worker_engine {

namespace {

constexpr const char* kWhat = "memory shared with an engine's process";

[[noreturn]] void fail(size_t bytes, int error) {
    const std::string message = fmt::format("{}: {} MiB: {}", kWhat, (bytes >> 20) + 1, std::strerror(error));
    if (error == ENOMEM || error == ENOSPC) throw OutOfMemory(message + "; use a smaller batch or smaller windows");
    throw Error(message);
}

/// The kernel would reserve more than there is and then kill a process.
void require_free(size_t bytes) {
    const auto available = device::available_host_memory_bytes();
    if (available && bytes > static_cast<size_t>(*available)) fail(bytes, ENOMEM);
}

int make_descriptor() {
    const int descriptor = memfd_create("patchbench-windows", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor >= 0) {
        // A process that shrinks it would end the other one by SIGBUS.
        (void)fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK);
        return descriptor;
    }
    require_descriptors(kWhat);
    fail(0, errno);
}

}  // namespace

SharedMemory::SharedMemory() : descriptor_(make_descriptor()) {}

SharedMemory::~SharedMemory() {
    unmap();
    ::close(descriptor_);
}

void SharedMemory::unmap() {
    if (pointer_ != nullptr) munmap(pointer_, bytes_);
    pointer_ = nullptr;
}

void SharedMemory::grow(size_t bytes) {
    if (bytes <= bytes_ && pointer_ != nullptr) return;
    if (bytes > static_cast<size_t>(std::numeric_limits<off_t>::max())) fail(bytes, ENOMEM);
    require_free(bytes - bytes_);
    int error = 0;
    do error = posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
    while (error == EINTR);
    if (error != 0) fail(bytes, error);
    unmap();
    bytes_ = bytes;
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (mapped == MAP_FAILED) fail(bytes, errno);
    pointer_ = static_cast<std::byte*>(mapped);
}

}  // namespace pb::engine::worker_engine
