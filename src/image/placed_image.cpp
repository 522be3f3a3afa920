#include "image/placed_image.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/npy.hpp"
#include "image/formats/random_access.hpp"
#include "image/tiff/write.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string>

namespace pb::image {
namespace {

/// Checks before the work begins that the disk has room for the compressed copy. The allowance for data that grows when
/// compressed is roughly libtiff's worst case.
void check_room_for_copy(uint64_t bytes, Compression compression, const std::filesystem::path& file) {
    constexpr uint64_t kMiB = uint64_t{1} << 20U;
    const uint64_t needed = compression == Compression::lzw ? bytes + bytes / 2 : bytes + bytes / 64 + kMiB;
    std::error_code unknown;
    const auto space = std::filesystem::space(file.has_parent_path() ? file.parent_path() : ".", unknown);
    if (unknown || space.available >= needed) return;
    throw Error(fmt::format(
        "cannot write {}: compressing it needs room for a copy, {} MiB, and {} MiB are free; make room, or write it "
        "uncompressed",
        file.string(), needed / kMiB, space.available / kMiB));
}

void write_head(const ImageInfo& info, const ImageMetadata* metadata, const std::filesystem::path& name,
                AtomicFile& file) {
    if (is_tiff(name)) return lay_out_tiff(info, metadata, file);
    if (extension_of(name) != ".npy") return;
    const std::string header = npy_header(info);
    file.write_at(0, std::as_bytes(std::span(header)));
}

PixelPlaces places_of(const ImageInfo& info, const std::filesystem::path& file) {
    const std::string extension = extension_of(file);
    PixelPlaces places{info.extent, 0, info.stored_pixel_bytes()};
    if (is_tiff(file)) {
        places.tile = kTiffTile;
        places.begin = kBigTiffHeaderBytes;
    } else if (extension == ".npy") {
        places.begin = npy_header(info).size();
    } else if (extension != ".raw") {
        throw UsageError("cannot write " + file.string() +
                         " by all ranks together: only .tif, .npy and .raw have places that are known beforehand; use "
                         "one of them, or output: memory");
    }
    return places;
}

}  // namespace

uint64_t PixelPlaces::of(int64_t row, int64_t column) const {
    if (tile == 0) return begin + static_cast<uint64_t>(row * image.w + column) * pixel_bytes;
    const int64_t index = row / tile * ceil_div(image.w, tile) + column / tile;
    return begin + static_cast<uint64_t>((index * tile + row % tile) * tile + column % tile) * pixel_bytes;
}

uint64_t PixelPlaces::end() const {
    const Extent stored = tile == 0 ? image : Extent{round_up(image.h, tile), round_up(image.w, tile)};
    return begin + static_cast<uint64_t>(stored.pixels()) * pixel_bytes;
}

PixelPlaces find_places(const ImageInfo& info, const std::filesystem::path& file) {
    const PixelPlaces places = places_of(info, file);
    check_can_hold(info, file);
    return places;
}

void check_can_compress(Compression compression, const std::filesystem::path& file) {
    if (compression == Compression::none || is_tiff(file)) return;
    throw UsageError("cannot write " + file.string() + " with compression " + std::string(name_of(compression)) +
                     ": it is for .tif and .tiff; use one of them, or leave it out");
}

PlacedImage::PlacedImage(const ImageInfo& info, const ImageMetadata* metadata, const std::filesystem::path& file,
                         Compression compression)
    : info_(info), metadata_(metadata), name_(file), compression_(compression), file_(file) {
    check_can_compress(compression, file);
    const PixelPlaces places = find_places(info, file);
    write_head(info, metadata, file, file_);
    file_.reserve(places.end());
    if (compression != Compression::none) check_room_for_copy(places.end(), compression, file);
}

void PlacedImage::commit() {
    if (compression_ == Compression::none) return file_.commit();
    AtomicFile compressed(name_);
    compress_tiff(RandomAccessFile(file_.path()), {info_, metadata_, tag_of(compression_)}, compressed);
    compressed.commit();
}

PixelWriter::PixelWriter(const std::filesystem::path& temporary_name, const ImageInfo& info,
                         const std::filesystem::path& file)
    : places_(places_of(info, file)), file_(temporary_name, file) {}

void PixelWriter::write(int64_t row, int64_t column, const PixelView& pixels, const PixelView& alpha) {
    const ImageToSave image{pixels, alpha};
    const Rect part{row, column, pixels.extent};
    const bool inside =
        row >= 0 && column >= 0 && row + part.extent.h <= places_.image.h && column + part.extent.w <= places_.image.w;
    require(inside && info_of(image).stored_pixel_bytes() == places_.pixel_bytes,
            "pixels that do not fit the file were to be written to it");
    if (places_.tile == 0)
        write_rows(part, image);
    else
        write_tiles(part, image);
}

void save_image(const ImageToSave& image, const std::filesystem::path& file, Compression compression) {
    if (compression == Compression::none) return save_image(image, file);
    const ImageInfo info = info_of(image);
    PlacedImage placed(info, image.metadata, file, compression);
    PixelWriter(placed.temporary_name(), info, file).write(0, 0, image.pixels, image.alpha);
    placed.commit();
}

std::unique_ptr<ImageFile> open_placed(const std::filesystem::path& name, const ImageInfo& info,
                                       const std::filesystem::path& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(name, ignored))
        throw Error("cannot write " + file.string() + ": its temporary file " + name.string() +
                    " is gone: was the folder removed or renamed meanwhile?");
    return extension_of(file) == ".raw" ? open_raw_image(name, info) : open_image(name);
}

void PixelWriter::write_rows(const Rect& part, const ImageToSave& image) {
    InterleavingRows rows(image);
    const size_t row_bytes = static_cast<size_t>(part.extent.w) * places_.pixel_bytes;
    for (int64_t y = 0; y < part.extent.h; ++y)
        file_.write_at(places_.of(part.row + y, part.column), {rows.row(y), row_bytes});
}

/// Where `part` spans a tile from its left edge to its right edge, its rows are contiguous in the file and are written
/// together. The right edge may be that of the image: the tile is zero beyond it.
void PixelWriter::write_tiles(const Rect& part, const ImageToSave& image) {
    InterleavingRows rows(image);
    const int64_t tile = places_.tile;
    const size_t tile_row_bytes = static_cast<size_t>(tile) * places_.pixel_bytes;
    for (int64_t top = part.row / tile * tile; top < part.row + part.extent.h; top += tile)
        for (int64_t left = part.column / tile * tile; left < part.column + part.extent.w; left += tile) {
            const Rect in_tile = intersection(part, {top, left, {tile, tile}});
            const int64_t right = in_tile.column + in_tile.extent.w;
            const bool whole = in_tile.column == left && (right == left + tile || right == places_.image.w);
            const size_t bytes = static_cast<size_t>(in_tile.extent.w) * places_.pixel_bytes;
            const size_t from = static_cast<size_t>(in_tile.column - part.column) * places_.pixel_bytes;
            rows_.assign(whole ? static_cast<size_t>(in_tile.extent.h) * tile_row_bytes : 0, std::byte{0});
            for (int64_t y = 0; y < in_tile.extent.h; ++y) {
                const std::byte* row = rows.row(in_tile.row - part.row + y) + from;
                if (whole)
                    std::memcpy(rows_.data() + static_cast<size_t>(y) * tile_row_bytes, row, bytes);
                else
                    file_.write_at(places_.of(in_tile.row + y, in_tile.column), {row, bytes});
            }
            if (whole) file_.write_at(places_.of(in_tile.row, in_tile.column), rows_);
        }
}

}  // namespace pb::image
