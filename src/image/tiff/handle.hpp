// libtiff on files of this program, without its global error handlers. The reported errors are stored with the handle.
#pragma once

#include "base/atomic_file.hpp"
#include "base/descriptor.hpp"
#include "image/formats/random_access.hpp"

#include <tiffio.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>

namespace pb::image {

/// The source or destination of libtiff's I/O, and its first error. It must stay at a fixed address because libtiff
/// keeps a pointer to it.
struct TiffStream {
    const RandomAccessFile* source = nullptr;
    AtomicFile* target = nullptr;
    uint64_t position = 0;
    uint64_t size = 0;
    bool skips_writes = false;  // true: a write leaves a hole, but offsets advance
    std::exception_ptr cause;   // set when writing failed
    char text[200] = "";        // the first error since the last clear_error()
};

enum class ByteOrder : uint8_t { of_machine, big };

class TiffHandle {
  public:
    /// Opens a file for reading. When it is not a TIFF, the handle is nullptr and error() returns the reason.
    explicit TiffHandle(const RandomAccessFile& file);
    /// Opens a file for writing. A classic TIFF cannot exceed 4 GiB.
    TiffHandle(AtomicFile& file, bool big_tiff, ByteOrder order = ByteOrder::of_machine);

    [[nodiscard]] TIFF* get() const { return tiff_.get(); }
    [[nodiscard]] bool has_error() const;
    /// Forgets the reported error: libtiff reports some conditions as errors that it can recover from.
    void clear_error();
    /// The first error that libtiff reported.
    [[nodiscard]] std::string error() const;
    /// Returns the end of the file, where libtiff appends strips and directories.
    [[nodiscard]] uint64_t end() const { return stream_->size; }
    /// Moves the end of the file, so that the next strip or directory is written there.
    void move_end(uint64_t position) { stream_->size = position; }
    /// With true, later writes leave holes; with false, they write again.
    void skip_writes(bool skip) { stream_->skips_writes = skip; }
    /// Rethrows the exception that made writing fail, or else throws Error with libtiff's message.
    [[noreturn]] void fail_writing() const;

  private:
    void open(const std::string& name, const char* mode);

    std::unique_ptr<TiffStream> stream_;
    Handle<TIFF*, TIFFClose> tiff_;
};

/// The sizes of the parts of a directory, in bytes (TIFF 6, BigTIFF): the number of its entries, the entries, the
/// offset of the next directory.
struct DirectoryFormat {
    size_t count, entry, number;  // number: of values, or their place; an offset
};
[[nodiscard]] inline DirectoryFormat directory_format(TIFF* tiff) {
    return TIFFIsBigTIFF(tiff) != 0 ? DirectoryFormat{8, 20, 8} : DirectoryFormat{2, 12, 4};
}

/// Returns the ASCII tag `number` of the current directory with all its strings, each of which ends with NUL (TIFF 6,
/// "Field Types"): libtiff returns the first one. Empty where the file has no such tag, or it reaches beyond the end.
[[nodiscard]] std::string read_strings(TIFF* tiff, uint16_t number);

/// Sets an ASCII tag that libtiff knows. Returns 1, as TIFFSetField does, unless that fails. libtiff takes such a text
/// up to its first NUL, but writes all that it holds.
[[nodiscard]] int write_strings(TIFF* tiff, uint16_t number, const std::string& strings);

// Damage in Deflate blocks of a TIFF that libtiff does not report: it stops when it has all samples, and then neither
// looks at the rest of the block nor at its checksum.

/// Returns what is wrong with strip or tile `block`, from which libtiff made `decoded`. Empty when its checksum fits,
/// and for other compressions. A block that holds more samples than needed is fine; so is one without its end.
[[nodiscard]] std::string find_deflate_fault(TIFF* tiff, uint32_t block, std::span<const std::byte> decoded,
                                             const RandomAccessFile& file);

}  // namespace pb::image
