#include "image/formats/unread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace pb::image {
namespace {

/// What files of a format have at a place of their first bytes.
struct Mark {
    std::string_view bytes;
    size_t place = 0;

    [[nodiscard]] bool is_in(std::string_view start) const {
        return place < start.size() && start.substr(place).starts_with(bytes);
    }
};

struct UnreadFormat {
    Mark mark;
    const char* name;
    const char* way_out;
};

constexpr const char* kConvert = "convert it to PNG or TIFF, as by ImageMagick: magick IN OUT.png";
constexpr const char* kDevelop = "develop it to 16-bit TIFF, as by darktable or dcraw";
constexpr const char* kByFiji = "export it as TIFF, as by Fiji or bfconvert";
constexpr const char* kByPython = "save its array as .npy in Python";

constexpr std::array<UnreadFormat, 22> kUnread{{{{"SIMPLE  ="}, "FITS", kByPython},
                                                {{"\x89HDF\r\n"}, "HDF5", kByPython},
                                                {{"DICM", 128}, "DICOM", kByPython},
                                                {{"ZISRAWFILE"}, "CZI", kByFiji},
                                                {{"\xda\xce\xbe\x0a"}, "ND2", kByFiji},
                                                {{{"\x70\0\0\0", 4}}, "LIF", kByFiji},
                                                {{"MAP ", 208}, "MRC", kByPython},
                                                {{"v/1\1"}, "OpenEXR", kConvert},
                                                {{"GIF8"}, "GIF", kConvert},
                                                {{"8BPS"}, "a file of Photoshop", kConvert},
                                                {{"%PDF"}, "PDF", kConvert},
                                                {{"\xff\x0a"}, "JPEG XL", kConvert},
                                                {{"JXL ", 4}, "JPEG XL", kConvert},
                                                {{"jP  ", 4}, "JPEG 2000", kConvert},
                                                {{"\xff\x4f\xff\x51"}, "JPEG 2000", kConvert},
                                                {{"ftypheic", 4}, "HEIF", kConvert},
                                                {{"ftypheix", 4}, "HEIF", kConvert},
                                                {{"ftypmif1", 4}, "HEIF", kConvert},
                                                {{"ftypmsf1", 4}, "HEIF", kConvert},
                                                {{"ftypavi", 4}, "AVIF", kConvert},
                                                {{"ftypcrx ", 4}, "a raw file of a camera", kDevelop},
                                                {{"FUJIFILMCCD-RAW"}, "a raw file of a camera", kDevelop}}};

/// MP4 and MOV (ISO 14496-12; after the images in that container), Matroska and WebM (EBML), AVI, MPEG, Ogg, Flash.
constexpr std::array<Mark, 8> kVideos{{{"ftyp", 4},
                                       {"moov", 4},
                                       {"\x1a\x45\xdf\xa3"},
                                       {"AVI ", 8},
                                       {{"\0\0\1\xba", 4}},
                                       {{"\0\0\1\xb3", 4}},
                                       {"OggS"},
                                       {"FLV\1"}}};

}  // namespace

void refuse_unread(const RandomAccessFile& file, std::string_view start) {
    for (const auto& [mark, name, way_out] : kUnread)
        if (mark.is_in(start)) file.refuse(fmt::format("it is {}, which is not read", name), way_out);
    if (std::ranges::none_of(kVideos, [&](const Mark& mark) { return mark.is_in(start); })) return;
    const std::string frames = file.path().stem().string() + "_frames";
    file.refuse("it is a video, and only images are read",
                fmt::format("make a folder of its frames and denoise that: mkdir {0}; ffmpeg -i {1} {0}/%06d.png",
                            frames, file.path().string()));
}

}  // namespace pb::image
