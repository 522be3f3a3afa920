// A file that is open for reading at any offset. Thread-compatible. Every error names the file.
#pragma once

#include "base/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace pb::image {

/// An unsigned number of at most 8 bytes, as files hold it.
[[nodiscard]] inline uint64_t number_in(std::span<const std::byte> bytes, bool big_endian = false) {
    uint64_t number = 0;
    for (size_t i = 0; i < bytes.size(); ++i)
        number = number << 8U | std::to_integer<uint64_t>(bytes[big_endian ? i : bytes.size() - 1 - i]);
    return number;
}

/// The size of an image by its header, and the most of it that a byte of the file can hold: of the units (bytes or
/// pixels) in which its rows are counted.
struct StatedSize {
    uint64_t height;
    uint64_t width;
    uint64_t row_units;
    uint64_t units_per_byte;
};

class RandomAccessFile {
  public:
    /// Throws UsageError when the file is missing, a folder, not a regular file, unreadable or empty.
    explicit RandomAccessFile(const std::filesystem::path& file);

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] uint64_t size() const { return size_; }

    /// Returns the number of bytes read at `offset`: fewer than requested at the end of the file, -1 with errno after
    /// an I/O error.
    [[nodiscard]] int64_t try_read_at(uint64_t offset, std::span<std::byte> bytes) const noexcept;

    /// Fills `bytes`. Throws UsageError when the file is too short for its own header, or cannot be read.
    void read_at(uint64_t offset, std::span<std::byte> bytes) const;

    [[nodiscard]] std::vector<std::byte> read_all() const;

    /// Throws UsageError with the message "<file>: <what>; <remedy>".
    [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const;
    [[noreturn]] void refuse_damaged(const std::string& what) const;
    /// Throws UsageError when its header states an extent that `bytes` bytes cannot hold. To be called before memory is
    /// allocated for the image.
    void require_room(const StatedSize& size, uint64_t bytes) const;

  private:
    std::filesystem::path path_;
    Descriptor descriptor_;
    uint64_t size_ = 0;
};

}  // namespace pb::image
