#include "image/tiff/handle.hpp"

#include "patchbench/base/error.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

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

/// Ignores warnings, except those of libtiff's JPEG decoder, which reports lost pixels as a warning. Those of its
/// warnings that the reader of JPEG files ignores are known here by their texts alone.
int judge_warning(TIFF* tiff, void* stream, const char* module, const char* format, va_list arguments) noexcept {
    if (module == nullptr || std::string_view(module) != "JPEGLib") return 1;
    std::array<char, 200> said{};
    va_list copy;
    va_copy(copy, arguments);
    std::vsnprintf(said.data(), said.size(), format, copy);
    va_end(copy);
    for (const char* const harmless : {"extraneous bytes before marker", "Invalid SOS parameters for sequential JPEG"})
        if (std::strstr(said.data(), harmless) != nullptr) return 1;
    return keep_error(tiff, stream, module, format, arguments);
}

/// The largest single allocation that libtiff may make: enough for any block of a valid file, but not for a wrong size
/// in a damaged file.
tmsize_t allocation_limit(const TiffStream& stream) {
    constexpr uint64_t kAlways = uint64_t{1} << 30U;
    return static_cast<tmsize_t>(std::max(kAlways, 2 * stream.size));
}

/// Returns the entries of the current directory, which libtiff has read.
std::vector<std::byte> read_entries(TIFF* tiff, const RandomAccessFile& file, const DirectoryFormat& format) {
    const uint64_t begin = TIFFCurrentDirOffset(tiff);
    std::array<std::byte, 8> count{};
    file.read_at(begin, std::span(count).first(format.count));
    const uint64_t entries = number_in(std::span(count).first(format.count), TIFFIsBigEndian(tiff) != 0);
    if (entries > file.size() / format.entry) return {};
    std::vector<std::byte> bytes(entries * format.entry);
    file.read_at(begin + format.count, bytes);
    return bytes;
}

bool is_deflate(TIFF* tiff) {
    uint16_t compression = COMPRESSION_NONE, fill_order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &fill_order);  // libtiff turns the bits of the other order
    const bool is_named = compression == COMPRESSION_ADOBE_DEFLATE || compression == COMPRESSION_DEFLATE;
    return is_named && fill_order == FILLORDER_MSB2LSB;
}

/// True when the block ends with the checksum of `decoded`: the usual case, and much faster than decoding it again.
/// With a predictor, or in another byte order, the checksum is that of other bytes.
bool ends_with_checksum(std::span<const std::byte> block, std::span<const std::byte> decoded) {
    constexpr size_t kBytes = 4;  // big-endian (RFC 1950)
    if (block.size() < kBytes) return false;
    return number_in(block.last(kBytes), true) ==
           adler32_z(1, reinterpret_cast<const Bytef*>(decoded.data()), decoded.size());
}

/// Decodes until the end of `block`, but not much more than `expected` bytes. Returns zlib's words on damage.
std::string find_fault(std::span<const std::byte> block, size_t expected) {
    z_stream stream{};
    require(inflateInit(&stream) == Z_OK, "zlib could not start: out of memory");
    const Handle<z_stream*, inflateEnd> owner(&stream);
    constexpr size_t kPiece = size_t{1} << 16U;
    std::array<Bytef, kPiece> ignored{};
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(block.data()));
    stream.avail_in = static_cast<uInt>(block.size());
    int status = Z_OK;
    while (status == Z_OK && stream.total_out <= 2 * expected + kPiece) {
        stream.next_out = ignored.data();
        stream.avail_out = static_cast<uInt>(ignored.size());
        status = inflate(&stream, Z_NO_FLUSH);
    }
    if (status != Z_DATA_ERROR && status != Z_NEED_DICT) return "";
    return stream.msg == nullptr ? "a dictionary is missing" : stream.msg;
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

std::string read_strings(TIFF* tiff, uint16_t number) {
    constexpr size_t kTypeAt = 2, kCountAt = 4;
    const RandomAccessFile& file = *stream_of(TIFFClientdata(tiff)).source;
    const DirectoryFormat format = directory_format(tiff);
    const std::vector<std::byte> entries = read_entries(tiff, file, format);
    for (size_t at = 0; at < entries.size(); at += format.entry) {
        const auto entry = std::span(entries).subspan(at, format.entry);
        const auto field = [&](size_t offset, size_t bytes) {
            return number_in(entry.subspan(offset, bytes), TIFFIsBigEndian(tiff) != 0);
        };
        if (field(0, 2) != number || field(kTypeAt, 2) != TIFF_ASCII) continue;
        const size_t value_at = kCountAt + format.number;
        const uint64_t length = field(kCountAt, format.number), place = field(value_at, format.number);
        const bool is_within = length <= format.number;
        if (!is_within && (length > file.size() || place > file.size() - length)) return {};
        std::string text(length, '\0');
        const auto bytes = std::as_writable_bytes(std::span(text));
        is_within ? (void)std::ranges::copy(entry.subspan(value_at, length), bytes.begin())
                  : file.read_at(place, bytes);
        return text;
    }
    return {};
}

int write_strings(TIFF* tiff, uint16_t number, const std::string& strings) {
    std::string joined = strings;
    std::ranges::replace(joined, '\0', ' ');
    char* held = nullptr;
    if (TIFFSetField(tiff, number, joined.c_str()) != 1 || TIFFGetField(tiff, number, &held) != 1) return 0;
    std::ranges::copy(strings, held);
    return 1;
}

std::string find_deflate_fault(TIFF* tiff, uint32_t block, std::span<const std::byte> decoded,
                               const RandomAccessFile& file) {
    const uint64_t num_bytes = TIFFGetStrileByteCount(tiff, block);
    if (!is_deflate(tiff) || num_bytes > std::numeric_limits<uInt>::max()) return "";
    std::vector<std::byte> bytes(std::min<uint64_t>(num_bytes, file.size()));
    file.read_at(TIFFGetStrileOffset(tiff, block), bytes);
    return ends_with_checksum(bytes, decoded) ? "" : find_fault(bytes, decoded.size());
}

}  // namespace pb::image
