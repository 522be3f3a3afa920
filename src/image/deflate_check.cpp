#include "image/deflate_check.hpp"

#include "patchbench/base/error.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace pb::image {
namespace {

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
    uint32_t there = 0;
    for (const std::byte each : block.last(kBytes)) there = there << 8U | std::to_integer<uint32_t>(each);
    return there == adler32_z(1, reinterpret_cast<const Bytef*>(decoded.data()), decoded.size());
}

class Inflation {
  public:
    Inflation() { require(inflateInit(&stream_) == Z_OK, "zlib could not start: out of memory"); }
    ~Inflation() { inflateEnd(&stream_); }
    Inflation(const Inflation&) = delete;
    Inflation& operator=(const Inflation&) = delete;

    /// Decodes until the end of `block`, but not much more than `expected` bytes. Returns zlib's words on damage.
    std::string find_fault(std::span<const std::byte> block, size_t expected) {
        constexpr size_t kPiece = size_t{1} << 16U;
        std::array<Bytef, kPiece> ignored{};
        stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(block.data()));
        stream_.avail_in = static_cast<uInt>(block.size());
        int status = Z_OK;
        while (status == Z_OK && stream_.total_out <= 2 * expected + kPiece) {
            stream_.next_out = ignored.data();
            stream_.avail_out = static_cast<uInt>(ignored.size());
            status = inflate(&stream_, Z_NO_FLUSH);
        }
        if (status != Z_DATA_ERROR && status != Z_NEED_DICT) return "";
        return stream_.msg == nullptr ? "a dictionary is missing" : stream_.msg;
    }

  private:
    z_stream stream_{};
};

}  // namespace

std::string find_deflate_fault(TIFF* tiff, uint32_t block, std::span<const std::byte> decoded,
                               const RandomAccessFile& file) {
    const uint64_t num_bytes = TIFFGetStrileByteCount(tiff, block);
    if (!is_deflate(tiff) || num_bytes > std::numeric_limits<uInt>::max()) return "";
    std::vector<std::byte> bytes(std::min<uint64_t>(num_bytes, file.size()));
    file.read_at(TIFFGetStrileOffset(tiff, block), bytes);
    return ends_with_checksum(bytes, decoded) ? "" : Inflation().find_fault(bytes, decoded.size());
}

}  // namespace pb::image
