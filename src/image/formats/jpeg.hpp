// What reading and writing JPEG share: how errors of libjpeg are met, and the markers that are copied.
//
// libjpeg reports an error through a callback that must not return; the callback here uses longjmp. As with libpng,
// code that may jump must not hold an object with a destructor on its own stack.
#pragma once

// jpeglib.h needs FILE and size_t, jerror.h needs jpeglib.h.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>
#include <string_view>

namespace pb::image {

struct JpegError {
    jpeg_error_mgr manager{};  // must be the first member: libjpeg passes its address to the callback
    std::jmp_buf place{};
    char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] inline void keep_jpeg_error(j_common_ptr codec) {
    auto* error = reinterpret_cast<JpegError*>(codec->err);
    codec->err->format_message(codec, error->text);
    std::longjmp(error->place, 1);  // NOLINT(cert-err52-cpp): libjpeg's interface
}

/// libjpeg reports lost pixel data as a warning and fills in gray. Here this is an error; harmless warnings are
/// ignored.
inline void judge_jpeg_warning(j_common_ptr codec, int level) {
    if (level >= 0) return;
    const int code = codec->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
                          code == JWRN_BOGUS_ICC || code == JWRN_NOT_SEQUENTIAL;
    if (!harmless) keep_jpeg_error(codec);
}

[[nodiscard]] inline jpeg_error_mgr* start_jpeg_errors(JpegError& error) {
    jpeg_error_mgr* manager = jpeg_std_error(&error.manager);
    manager->error_exit = keep_jpeg_error;
    manager->emit_message = judge_jpeg_warning;
    manager->output_message = [](j_common_ptr) {};
    return manager;
}

/// Runs `code`. Returns false when libjpeg reported an error.
template <class Code>
[[nodiscard]] bool guarded_jpeg(JpegError& error, const Code& code) {
    if (setjmp(error.place) != 0) return false;  // NOLINT(cert-err52-cpp)
    code();
    return true;
}

/// Markers that are copied as they are from JPEG to JPEG.
struct CopiedMarker {
    int number;
    std::string_view type, meaning;  // as FormatBlock's
};
inline constexpr std::string_view kJpegExtension = ".jpg";
inline constexpr CopiedMarker kCopiedMarkers[] = {{JPEG_COM, "COM", "comment"}, {JPEG_APP0 + 13, "APP13", "IPTC"}};

}  // namespace pb::image
