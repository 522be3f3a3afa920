// Reads PNG files: errors of libpng, the list of chunks, pixels.
#pragma once

#include "image/formats/random_access.hpp"

#include <png.h>

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace pb::image {

// libpng reports errors by longjmp. `guarded` runs code that may jump. That code must not hold an object with a
// destructor on its own stack: declare such objects outside and capture them by reference. `PngError` stores the
// reason.

struct PngError {
    char text[200] = "";
    std::exception_ptr cause;  // set when a callback of this program failed
};

inline void keep_png_error(png_structp png, png_const_charp text) {
    auto* error = static_cast<PngError*>(png_get_error_ptr(png));
    std::snprintf(error->text, sizeof error->text, "%s", text);
    png_longjmp(png, 1);
}

inline void ignore_png_warning(png_structp /*png*/, png_const_charp /*text*/) {}

/// Runs `code`. Returns false when libpng reported an error.
template <class Code>
[[nodiscard]] bool guarded(png_structp png, const Code& code) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;  // NOLINT(cert-err52-cpp): libpng's interface
    code();
    return true;
}

// Reads the list of chunks of a PNG file without decoding it. This detects a truncated file before memory is allocated,
// and finds metadata that libpng would report only after the pixels.

struct PngChunks {
    std::vector<std::byte> exif;    // the chunk eXIf, wherever it is in the file
    uint64_t pixel_data_bytes = 0;  // sum of all IDAT chunks
    bool is_animated = false;
    std::vector<std::string> not_kept;  // descriptions of metadata that no output keeps
};

/// Throws UsageError when a chunk reaches past the end of the file or IEND is missing.
[[nodiscard]] PngChunks walk_png_chunks(const RandomAccessFile& file);

}  // namespace pb::image
