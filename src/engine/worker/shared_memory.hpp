// Memory that a rank shares with the process that it starts: without a name in any file system, reserved before it is
// mapped, so that a lack of memory is an error and no SIGBUS.
#pragma once

#include <cstddef>

namespace pb::engine::worker_engine {

class SharedMemory {
  public:
    SharedMemory();
    ~SharedMemory();
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;

    /// Makes it `bytes` large, if it is smaller. Earlier pointers are then invalid. Throws OutOfMemory.
    void grow(size_t bytes);
    [[nodiscard]] std::byte* pointer() const { return pointer_; }
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] int descriptor() const { return descriptor_; }

  private:
    void unmap();

    int descriptor_;
    std::byte* pointer_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace pb::engine::worker_engine
