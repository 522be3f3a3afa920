#include "image/tiff_handle.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace pb::image {
namespace {

TiffStream& stream_of(thandle_t handle) { return *static_cast<TiffStream*>(handle); }

tmsize_t read_proc(thandle_t handle, void* to, tmsize_t count) noexcept {
    TiffStream& stream = stream_of(handle);
    const std::span<std::byte> bytes(static_cast<std::byte*>(to), static_cast<size_t>(count));
    int64_t got = -1;
    try {
        got = stream.source != nullptr ? stream.source->try_read_at(stream.position, bytes)
                                       : static_cast<int64_t>(stream.target->read_at(stream.position, bytes));
    } catch (...) {
        stream.cause = std::current_exception();
    }
    if (got > 0) stream.position += static_cast<uint64_t>(got);
    return got;
}

tmsize_t write_proc(thandle_t handle, void* from, tmsize_t count) noexcept {
    TiffStream& stream = stream_of(handle);
    if (stream.target == nullptr) return -1;
    try {
        if (!stream.skips_writes)
            stream.target->write_at(stream.position, {static_cast<const std::byte*>(from), static_cast<size_t>(count)});
    } catch (...) {
        if (!stream.cause) stream.cause = std::current_exception();
        return -1;
    }
    stream.position += static_cast<uint64_t>(count);
    stream.size = std::max(stream.size, stream.position);
    return count;
}

toff_t seek_proc(thandle_t handle, toff_t offset, int whence) noexcept {
    TiffStream& stream = stream_of(handle);
    const uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? stream.position : stream.size;
    stream.position = base + offset;
    return stream.position;
}

toff_t size_proc(thandle_t handle) noexcept { return stream_of(handle).size; }

int close_proc(thandle_t /*handle*/) noexcept { return 0; }  // the stream outlives libtiff's handle

int keep_error(TIFF* /*tiff*/, void* stream, const char* /*module*/, const char* format, va_list arguments) noexcept {
    auto& text = static_cast<TiffStream*>(stream)->text;
    if (text[0] == '\0') std::vsnprintf(text, sizeof text, format, arguments);
    return 1;
}

/// Ignores warnings, except those of libtiff's JPEG decoder, which reports lost pixels as a warning.
int judge_warning(TIFF* tiff, void* stream, const char* module, const char* format, va_list arguments) noexcept {
    const bool lost_pixels = module != nullptr && std::string_view(module) == "JPEGLib";
    return lost_pixels ? keep_error(tiff, stream, module, format, arguments) : 1;
}

/// The largest single allocation that libtiff may make: enough for any block of a valid file, but not for a wrong size
/// in a damaged file.
tmsize_t allocation_limit(const TiffStream& stream) {
    constexpr uint64_t kAlways = uint64_t{1} << 30U;
    return static_cast<tmsize_t>(std::max(kAlways, 2 * stream.size));
}

}  // namespace

TiffHandle::TiffHandle(const RandomAccessFile& file) : stream_(std::make_unique<TiffStream>()) {
    stream_->source = &file;
    stream_->size = file.size();
    open(file.path().string(), "rc");  // c: do not split strips, keep them as they are in the file
}

TiffHandle::TiffHandle(AtomicFile& file, bool big_tiff, ByteOrder order) : stream_(std::make_unique<TiffStream>()) {
    stream_->target = &file;
    const std::string mode = std::string("w") + (order == ByteOrder::big ? "b" : "") + (big_tiff ? "8" : "");
    open(file.path().string(), mode.c_str());
    if (!tiff_) fail_writing();
}

void TiffHandle::open(const std::string& name, const char* mode) {
    const Handle<TIFFOpenOptions*, TIFFOpenOptionsFree> options(TIFFOpenOptionsAlloc());
    require(options != nullptr, "libtiff could not start: out of memory");
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), keep_error, stream_.get());
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), judge_warning, stream_.get());
    if (stream_->source != nullptr) TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), allocation_limit(*stream_));
    tiff_.reset(TIFFClientOpenExt(name.c_str(), mode, stream_.get(), read_proc, write_proc, seek_proc, close_proc,
                                  size_proc, nullptr, nullptr, options.get()));
}

std::string TiffHandle::error() const { return stream_->text[0] == '\0' ? "libtiff does not say why" : stream_->text; }

bool TiffHandle::has_error() const { return stream_->text[0] != '\0'; }

void TiffHandle::clear_error() { stream_->text[0] = '\0'; }

void TiffHandle::fail_writing() const {
    if (stream_->cause) std::rethrow_exception(stream_->cause);
    throw Error("writing TIFF failed: " + error());
}

}  // namespace pb::image
