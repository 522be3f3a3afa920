// A file that appears under its name only when it is complete: written under a temporary name in the same folder,
// flushed to the disk, renamed. Whatever goes wrong before `commit`, nothing is left behind and an older file of that
// name stays as it was.
#pragma once

#include "base/descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace pb {

class AtomicFile {
  public:
    /// Creates `.<name>.<n>.part` beside `file`; one that a killed process left is taken away. Throws UsageError when
    /// the folder is missing or cannot be written, or when `file` is a folder or a device.
    explicit AtomicFile(std::filesystem::path file);
    ~AtomicFile();
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;

    /// The temporary file, for writers that open it by name themselves; they must have closed it before `commit`.
    [[nodiscard]] const std::filesystem::path& path() const { return part_; }

    /// Writes all of `bytes` at `offset`. Throws Error with the reason (disk full, quota, file-size limit).
    void write_at(uint64_t offset, std::span<const std::byte> bytes);

    /// write_at() after what append() wrote so far.
    void append(std::span<const std::byte> bytes);

    /// Takes the disk space of `bytes` bytes now, so that a full disk is met before the work and not after it, where
    /// the file system can; at least makes the file that long. Throws Error.
    void reserve(uint64_t bytes);

    /// Reads up to bytes.size() bytes back; fewer at the end of the file. Throws Error.
    [[nodiscard]] size_t read_at(uint64_t offset, std::span<std::byte> bytes) const;

    /// fsync, close, rename, fsync of the folder. Throws Error; then nothing appears under the final name.
    void commit();

  private:
    [[nodiscard]] bool claim_part();

    std::filesystem::path final_;
    std::filesystem::path part_;
    int descriptor_ = -1;
    uint64_t appended_ = 0;
};

/// The temporary file of another process's AtomicFile, opened for writing by its name.
class PartFile {
  public:
    /// `final_name` is for error messages. Throws Error when it is not there: the processes do not see one file system.
    PartFile(const std::filesystem::path& part, std::filesystem::path final_name);

    /// As AtomicFile's.
    void write_at(uint64_t offset, std::span<const std::byte> bytes);
    /// fsync. Throws Error.
    void flush();

  private:
    std::filesystem::path final_;
    Descriptor descriptor_;
};

/// `text` as the whole of `file`. Throws as the constructor and `commit` do.
void write_whole(const std::filesystem::path& file, std::string_view text);

/// Throws UsageError when AtomicFile could not create `file` now. Leaves nothing behind.
void check_can_create(const std::filesystem::path& file);

}  // namespace pb
