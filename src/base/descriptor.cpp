#include "base/descriptor.hpp"

#include <sys/mman.h>

#include <cerrno>

namespace pb {

Mapping Mapping::map(int descriptor, size_t bytes) {
    void* const pointer = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return pointer == MAP_FAILED ? Mapping() : Mapping(static_cast<std::byte*>(pointer), bytes);
}

void Mapping::Unmap::operator()(std::byte* pointer) const noexcept { ::munmap(pointer, bytes); }

ssize_t read_at(int descriptor, uint64_t offset, std::span<std::byte> bytes) noexcept {
    size_t total = 0;
    while (total < bytes.size()) {
        const ssize_t got =
            ::pread(descriptor, bytes.data() + total, bytes.size() - total, static_cast<off_t>(offset + total));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        total += static_cast<size_t>(got);
    }
    return static_cast<ssize_t>(total);
}

bool write_at(int descriptor, std::optional<uint64_t> offset, std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty()) {
        const ssize_t written = offset ? ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(*offset))
                                       : ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(written));
        if (offset) *offset += static_cast<uint64_t>(written);
    }
    return true;
}

}  // namespace pb
