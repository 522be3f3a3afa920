// .npy, TIFF, PNG, JPEG, WebP and BMP: a window in each corner and in the middle, then alpha where the image is small,
// of the first pages. Damaged PNG files get checksums that fit, or libpng would look at nothing else.
#include "fuzz/memory_file.hpp"
#include "image/image_file.hpp"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <span>

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t count, size_t capacity);

namespace {

void read_window(pb::image::ImageFile& file, const pb::Rect& window) {
    pb::image::Image image(window.extent, file.info().channels, file.info().dtype);
    file.read(window, image.view());
}

void read_windows(pb::image::ImageFile& file) {
    constexpr int64_t kEdge = 24, kSmall = 1 << 20;
    const pb::Extent extent = file.info().extent;
    const pb::Extent window{std::min(kEdge, extent.h), std::min(kEdge, extent.w)};
    const int64_t bottom = extent.h - window.h, right = extent.w - window.w;
    for (const int64_t row : {int64_t{0}, bottom / 2, bottom})
        for (const int64_t column : {int64_t{0}, right / 2, right}) read_window(file, {row, column, window});
    if (extent.h * extent.w <= kSmall) (void)file.read_alpha();
}

void read_pages(const std::filesystem::path& path) {
    constexpr int64_t kPages = 4;
    const auto file = pb::image::open_stack(path, {});
    for (int64_t page = 0; page < std::min(kPages, file->num_pages()); ++page) {
        file->turn_to(page);
        read_windows(*file);
    }
}

size_t load_big_endian(const uint8_t* bytes) {
    return size_t{bytes[0]} << 24U | size_t{bytes[1]} << 16U | size_t{bytes[2]} << 8U | bytes[3];
}

/// Chunks are length, kind, content, checksum of kind and content; the file's mark takes 8 bytes.
void repair_png(std::span<uint8_t> file) {
    constexpr size_t kMark = 8, kAround = 12;
    if (file.size() < kMark || std::memcmp(file.data(), "\x89PNG", 4) != 0) return;
    for (auto rest = file.subspan(kMark); rest.size() >= kAround;) {
        const size_t length = load_big_endian(rest.data());
        if (length > rest.size() - kAround) return;
        const auto checksum = crc32(0, rest.data() + 4, static_cast<uInt>(length + 4));
        for (size_t i = 0; i < 4; ++i) rest[length + 8 + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
        rest = rest.subspan(length + kAround);
    }
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t count, size_t capacity, unsigned /*seed*/) {
    const size_t mutated = LLVMFuzzerMutate(bytes, count, capacity);
    repair_png({bytes, mutated});
    return mutated;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t count) {
    pb::test::expect_value_or_error(bytes, count, read_pages);
    return 0;
}
