// Owners of file descriptors and of memory mapped from them, and what reads and writes all bytes at a place.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace pb {

class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int number) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }

    [[nodiscard]] int number() const { return number_; }
    void close() {
        if (number_ >= 0) ::close(number_);
        number_ = -1;
    }

  private:
    int number_ = -1;
};

/// The bytes of a file in the memory of this process. They stay when the file is closed here.
class Mapping {
  public:
    Mapping() = default;
    /// Owns what mmap gave.
    Mapping(std::byte* pointer, size_t bytes) : pointer_(pointer, {bytes}) {}
    /// Maps the first `bytes` bytes for reading and writing. Empty with errno when the system refuses.
    [[nodiscard]] static Mapping map(int descriptor, size_t bytes);

    [[nodiscard]] std::span<std::byte> bytes() const {
        return {pointer_.get(), pointer_ ? pointer_.get_deleter().bytes : 0};
    }

  private:
    struct Unmap {
        size_t bytes;
        void operator()(std::byte* pointer) const noexcept;
    };
    std::unique_ptr<std::byte, Unmap> pointer_;
};

/// Returns the number of bytes read at `offset`: fewer than asked for at the end of the file, -1 with errno after an
/// error.
[[nodiscard]] ssize_t read_at(int descriptor, uint64_t offset, std::span<std::byte> bytes) noexcept;

/// Writes all of `bytes` at `offset`; without one where the file stands, as pipes want it. Returns false with errno
/// when the system refuses.
[[nodiscard]] bool write_at(int descriptor, std::optional<uint64_t> offset, std::span<const std::byte> bytes) noexcept;

// RAII for C handles: `using Stream = Handle<cudaStream_t, cudaStreamDestroy>`. One closer, no wrapper classes.

template <class H, auto Close>
struct Closer {
    using pointer = H;
    void operator()(H handle) const noexcept { (void)Close(handle); }
};

template <class H, auto Close>
using Handle = std::unique_ptr<std::remove_pointer_t<H>, Closer<H, Close>>;

}  // namespace pb
