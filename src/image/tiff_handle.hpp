// libtiff on our own files, without its global error handlers: what it reports is kept beside the handle.
#pragma once

#include "base/atomic_file.hpp"
#include "image/random_access.hpp"

#include <tiffio.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

namespace pb {

/// What libtiff reads from or writes to, and what it said. At a fixed address: libtiff keeps a pointer.
struct TiffStream {
    const RandomAccessFile* source = nullptr;
    AtomicFile* target = nullptr;
    uint64_t position = 0;
    uint64_t size = 0;
    bool skips_writes = false;  // what is written leaves a hole: offsets are as if it had been
    std::exception_ptr cause;   // set when writing failed
    char text[200] = "";        // the first error since it was cleared
};

class TiffHandle {
  public:
    /// Opens for reading; nullptr inside and the reason in error() when it is no TIFF.
    explicit TiffHandle(const RandomAccessFile& file);
    /// Opens for writing; classic TIFF cannot exceed 4 GiB.
    TiffHandle(AtomicFile& file, bool big_tiff);

    [[nodiscard]] TIFF* get() const { return tiff_.get(); }
    [[nodiscard]] bool has_error() const;
    /// Forgets what was reported: libtiff calls some things errors that it can live with.
    void clear_error();
    /// The first error libtiff reported so far.
    [[nodiscard]] std::string error() const;
    /// From here on, or no longer.
    void skip_writes(bool skip) { stream_->skips_writes = skip; }
    /// Rethrows what made writing fail, else throws Error with libtiff's words.
    [[noreturn]] void fail_writing() const;

  private:
    void open(const std::string& name, const char* mode);

    std::unique_ptr<TiffStream> stream_;
    Handle<TIFF*, TIFFClose> tiff_;
};

}  // namespace pb
