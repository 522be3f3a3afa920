// Bytes as a regular file that lies in memory, for readers that take a path. A reader must give a value or throw
// pb::Error; anything else is a finding.
#pragma once

#include "patchbench/base/error.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace pb::test {

class MemoryFile {
  public:
    MemoryFile(const uint8_t* bytes, size_t count) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
        if (descriptor_ < 0 || write(descriptor_, bytes, count) != static_cast<ssize_t>(count)) std::abort();
    }
    ~MemoryFile() { close(descriptor_); }
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;
    [[nodiscard]] std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

/// With PATCHBENCH_FUZZ_WHOLE in the environment the bytes are those of a whole file: an error is a finding, too.
template <class Read>
void expect_value_or_error(const uint8_t* bytes, size_t count, Read&& read) {
    static const bool whole = std::getenv("PATCHBENCH_FUZZ_WHOLE") != nullptr;
    const MemoryFile file(bytes, count);
    try {
        read(file.path());
    } catch (const Error&) {  // what a damaged file deserves
        if (whole) throw;
    }
}

}  // namespace pb::test
