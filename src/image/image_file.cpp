#include "image/image_file.hpp"

#include "base/text.hpp"
#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/unread.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace pb::image {
namespace {

struct Magic {
    std::string_view bytes;
    std::unique_ptr<ImageFile> (*open)(OpenedFile);
    size_t place = 0;
};

constexpr std::array<Magic, 9> kMagics{{{"\x89PNG\r\n\x1a\n", open_png},
                                        {"\xff\xd8\xff", open_jpeg},
                                        {{"II*\0", 4}, open_tiff},
                                        {{"MM\0*", 4}, open_tiff},
                                        {{"II+\0", 4}, open_tiff},  // BigTIFF
                                        {{"MM\0+", 4}, open_tiff},
                                        {"\x93NUMPY", open_npy},
                                        {"WEBP", open_webp, 8},  // after "RIFF" and the length
                                        {"BM", open_bmp}}};

/// Returns the format of a file. Throws UsageError when it is none of these.
const Magic& magic_of(const RandomAccessFile& file) {
    constexpr size_t kHeadBytes = 212;  // MRC has its mark at the end of them
    std::array<std::byte, kHeadBytes> head{};
    (void)file.try_read_at(0, head);
    const std::string_view start(reinterpret_cast<const char*>(head.data()), head.size());
    for (const Magic& magic : kMagics)
        if (start.substr(magic.place).starts_with(magic.bytes)) return magic;
    refuse_unread(file, start);
    file.refuse("it is none of PNG, JPEG, WebP, BMP, TIFF and .npy",
                "convert it to one of them, or say what raw samples it holds: --raw, in a study image.raw");
}

/// The capabilities of a format, and the function that writes it.
struct Format {
    std::string_view extension;
    std::string_view name;
    bool holds_u16;
    bool holds_all;  // true: every type and any number of channels
    bool holds_alpha;
    int64_t longest_side;
    uint64_t most_bytes;  // of the pixels
    void (*write)(const ImageToSave&, AtomicFile&);
};

constexpr int64_t kLongest31 = (int64_t{1} << 31U) - 1;
constexpr int64_t kLongestJpeg = 65500;  // libjpeg's limit, in pixels
constexpr int64_t kLongestWebp = 16383;
constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kBmpBytes = (uint64_t{1} << 32U) - (uint64_t{1} << 16U);  // its header holds lengths of 32 bits
constexpr std::array<Format, 9> kFormats{{{".png", "PNG", true, false, true, kLongest31, kAnySize, write_png},
                                          {".jpg", "JPEG", false, false, false, kLongestJpeg, kAnySize, write_jpeg},
                                          {".jpeg", "JPEG", false, false, false, kLongestJpeg, kAnySize, write_jpeg},
                                          {".webp", "WebP", false, false, true, kLongestWebp, kAnySize, write_webp},
                                          {".bmp", "BMP", false, false, true, kLongest31, kBmpBytes, write_bmp},
                                          {".tif", "TIFF", true, true, true, kLongest31, kAnySize, write_tiff},
                                          {".tiff", "TIFF", true, true, true, kLongest31, kAnySize, write_tiff},
                                          {".npy", ".npy", true, true, true, kLongest31, kAnySize, write_npy},
                                          {".raw", "raw", true, true, true, kLongest31, kAnySize, write_raw}}};

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what, const std::string& remedy) {
    throw UsageError("cannot write " + file.string() + ": " + what + "; " + remedy);
}

const Format& format_of(const std::filesystem::path& file) {
    if (!file.has_filename()) throw UsageError("'" + file.string() + "' is not a file name: name the file to write");
    const std::string extension = extension_of(file);
    const auto format = std::ranges::find(kFormats, extension, &Format::extension);
    if (format == kFormats.end())
        refuse(
            file,
            extension.empty() ? "its name has no extension" : "no image format has the extension '" + extension + "'",
            "use .tif, .npy or .raw, or, where one rank writes it, .png, .webp, .bmp or .jpg");
    return *format;
}

/// With the padding of rows. A gray image with alpha takes four bytes a pixel in the formats that have a limit.
uint64_t stored_bytes(const ImageInfo& info) {
    const uint64_t pixel_bytes = info.has_alpha ? 4 : info.pixel_bytes();
    return static_cast<uint64_t>(info.extent.h) * (static_cast<uint64_t>(info.extent.w) * pixel_bytes + 3);
}

void check_format(const ImageInfo& info, const Format& format, const std::filesystem::path& file) {
    const std::string name(format.name);
    if (info.extent.h < 1 || info.extent.w < 1) refuse(file, "the image has no pixels", "check what it was made from");
    if (info.channels != 1 && info.channels != 3 && (!format.holds_all || info.channels < 1 || info.has_alpha))
        refuse(file, fmt::format("{} colour channels", info.channels),
               "images have 1 or 3; .tif, .npy and .raw hold bands, without alpha");
    const bool holds = info.dtype == DType::u8 || (info.dtype == DType::u16 && format.holds_u16) || format.holds_all;
    if (!holds)
        refuse(file, name + " cannot hold " + std::string(name_of(info.dtype)) + " samples",
               info.dtype == DType::u16 ? "use .png, .tif or .npy" : "use .tif or .npy");
    if (info.has_alpha && !format.holds_alpha) refuse(file, name + " cannot hold alpha", "use .png or .tif");
    if (std::max(info.extent.h, info.extent.w) > format.longest_side)
        refuse(file, fmt::format("{} cannot hold more than {} pixels a side", name, format.longest_side),
               "use .png or .tif");
    if (stored_bytes(info) > format.most_bytes) refuse(file, name + " cannot hold more than 4 GiB", "use .png or .tif");
}

void check_alpha(const ImageToSave& image, const std::filesystem::path& file) {
    if (!has_alpha(image)) return;
    require(image.alpha.extent == image.pixels.extent && image.alpha.channels == 1 &&
                image.alpha.dtype == image.pixels.dtype,
            "alpha does not have the extent and type of the pixels");
    if (image.metadata != nullptr) check_can_hold_alpha(*image.metadata, file);
}

}  // namespace

void ImageFile::read(const Rect& part, MutablePixelView to) {
    const bool inside = part.row >= 0 && part.column >= 0 && part.extent.h >= 0 && part.extent.w >= 0 &&
                        part.row + part.extent.h <= info().extent.h && part.column + part.extent.w <= info().extent.w;
    require(inside, "a part that does not lie in the image was asked for");
    require(to.extent == part.extent && to.channels == info().channels && to.dtype == info().dtype,
            "the memory to read into does not have the extent, channels and type of the part asked for");
    read_channels(part, 0, to);
}

Image ImageFile::read_alpha(const Rect& part) {
    if (!info().has_alpha) return {};
    Image alpha(part.extent, 1, info().dtype);
    read_channels(part, info().channels, alpha.view());
    return alpha;
}

std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const Magic& magic = magic_of(*opened);
    return magic.open(std::move(opened));
}

std::unique_ptr<ImageFile> open_stack(const std::filesystem::path& file, std::span<const int64_t> pages) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const Magic& magic = magic_of(*opened);
    if (magic.open == open_tiff) return open_tiff_stack(std::move(opened), pages);
    for (const int64_t page : pages)
        if (page != 0) opened->refuse(fmt::format("there is no page {}, it is one image", page), "leave out --pages");
    return magic.open(std::move(opened));
}

std::string extension_of(const std::filesystem::path& file) { return lower_case(file.extension().string()); }

bool is_tiff(const std::filesystem::path& file) {
    const std::string extension = extension_of(file);
    return extension == ".tif" || extension == ".tiff";
}

bool is_lossy(const std::filesystem::path& file) {
    const std::string extension = extension_of(file);
    return extension == ".jpg" || extension == ".jpeg";
}

bool is_image_name(const std::filesystem::path& file) {
    const std::string extension = extension_of(file);
    return extension != ".raw" && std::ranges::find(kFormats, extension, &Format::extension) != kFormats.end();
}

void save_image(const ImageToSave& image, const std::filesystem::path& file) {
    const Format& format = format_of(file);
    check_format(info_of(image), format, file);
    check_alpha(image, file);
    AtomicFile target(file);
    format.write(image, target);
    target.commit();
}

void check_can_hold(const ImageInfo& info, const std::filesystem::path& file) {
    check_format(info, format_of(file), file);
}

void check_can_hold_alpha(const ImageMetadata& metadata, const std::filesystem::path& file) {
    const Format& format = format_of(file);
    if (metadata.premultiplied_alpha && !format.holds_all)
        refuse(file, std::string(format.name) + " cannot hold colours multiplied by alpha", "use .tif");
}

void check_can_save(const ImageInfo& info, const std::filesystem::path& file) {
    check_can_hold(info, file);
    check_can_create(file);
}

}  // namespace pb::image
