#include "image/image_file.hpp"

#include "image/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

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

/// Text that videos have at a place of their first bytes: MP4 and MOV (ISO 14496-12; but not images in that container),
/// Matroska and WebM (EBML), AVI, MPEG, Ogg, Flash.
struct VideoMark {
    std::string_view bytes;
    size_t place = 0;
};
constexpr std::array<VideoMark, 8> kVideoMarks{{{"ftyp", 4},
                                                {"moov", 4},
                                                {"\x1a\x45\xdf\xa3"},
                                                {"AVI ", 8},
                                                {{"\0\0\1\xba", 4}},
                                                {{"\0\0\1\xb3", 4}},
                                                {"OggS"},
                                                {"FLV\1"}}};

bool is_video(std::string_view start) {
    for (const std::string_view brand : {"heic", "heix", "mif1", "msf1", "avif", "avis", "crx "})
        if (start.substr(4).starts_with(std::string("ftyp").append(brand))) return false;
    return std::any_of(kVideoMarks.begin(), kVideoMarks.end(),
                       [&](const VideoMark& mark) { return start.substr(mark.place).starts_with(mark.bytes); });
}

[[noreturn]] void refuse_video(const RandomAccessFile& file) {
    const std::string frames = file.path().stem().string() + "_frames";
    file.refuse("it is a video, and only images are read",
                fmt::format("make a folder of its frames and denoise that: mkdir {0}; ffmpeg -i {1} {0}/%06d.png",
                            frames, file.path().string()));
}

/// Returns the format of a file. Throws UsageError when it is none of these.
const Magic& format_of(const RandomAccessFile& file) {
    std::array<std::byte, 12> head{};
    (void)file.try_read_at(0, head);
    const std::string_view start(reinterpret_cast<const char*>(head.data()), head.size());
    for (const Magic& magic : kMagics)
        if (start.substr(magic.place).starts_with(magic.bytes)) return magic;
    if (is_video(start)) refuse_video(file);
    file.refuse("it is none of PNG, JPEG, WebP, BMP, TIFF and .npy",
                "convert it to one of them, or say what raw samples it holds: --raw, in a study image.raw");
}

}  // namespace

std::unique_ptr<ImageFile> open_image(const std::filesystem::path& file) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const Magic& format = format_of(*opened);
    return format.open(std::move(opened));
}

std::unique_ptr<ImageFile> open_stack(const std::filesystem::path& file, std::span<const int64_t> pages) {
    auto opened = std::make_unique<RandomAccessFile>(file);
    const Magic& format = format_of(*opened);
    if (format.open == open_tiff) return open_tiff_stack(std::move(opened), pages);
    for (const int64_t page : pages)
        if (page != 0) opened->refuse(fmt::format("there is no page {}, it is one image", page), "leave out --pages");
    return format.open(std::move(opened));
}

Image load_image(const std::filesystem::path& file) {
    const std::unique_ptr<ImageFile> opened = open_image(file);
    const ImageInfo& info = opened->info();
    Image image(info.extent, info.channels, info.dtype);
    opened->read({0, 0, info.extent}, image.view());
    return image;
}

}  // namespace pb::image
