// libpng reports errors by longjmp. `guarded` runs code that may jump. That code must not hold an object with a
// destructor on its own stack: declare such objects outside and capture them by reference. `PngError` stores the
// reason.
#pragma once

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <exception>
#include <string_view>

namespace pb::image {

/// What a chunk iTXt with a packet of XMP begins with: keyword, not compressed, no language, no translated keyword.
inline constexpr std::string_view kXmpKeyword{"XML:com.adobe.xmp\0\0\0\0\0", 22};

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

}  // namespace pb::image
