#include "image/tiff/tags.hpp"

#include "base/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace pb::image {
namespace {

constexpr uint16_t kImageDescription = 270;
constexpr uint16_t kIptc = 33723;
constexpr uint16_t kGdalMetadata = 42112;
constexpr uint16_t kGdalNodata = 42113;
constexpr uint16_t kImageJCounts = 50838;
constexpr uint16_t kImageJMetadata = 50839;

struct KeptTag {
    uint16_t number;
    const char* name;
    bool is_georeference = false;
};

/// Tag numbers and names from the documentation of TIFF 6, GeoTIFF 1.1 (OGC 19-008r4), GDAL, ImageJ
/// and Micro-Manager.
constexpr std::array<KeptTag, 23> kKept{{{269, "DocumentName"},
                                         {kImageDescription, "ImageDescription"},
                                         {271, "Make"},
                                         {272, "Model"},
                                         {285, "PageName"},
                                         {306, "DateTime"},
                                         {315, "Artist"},
                                         {316, "HostComputer"},
                                         {33432, "Copyright"},
                                         {33550, "ModelPixelScale", true},
                                         {kIptc, "IPTC"},
                                         {33920, "IntergraphMatrix", true},
                                         {33922, "ModelTiepoint", true},
                                         {34264, "ModelTransformation", true},
                                         {34735, "GeoKeyDirectory", true},
                                         {34736, "GeoDoubleParams", true},
                                         {34737, "GeoAsciiParams", true},
                                         {kGdalMetadata, "GDAL_METADATA"},
                                         {kGdalNodata, "GDAL_NODATA"},
                                         {kImageJCounts, "IJMetadataByteCounts"},
                                         {kImageJMetadata, "IJMetadata"},
                                         {50844, "RPCCoefficient", true},
                                         {51123, "MicroManagerMetadata"}}};

/// Tags that describe how the pixels are stored, that read_tiff_metadata reads, or that name the program which wrote
/// the file (305). Their loss is not reported.
constexpr std::array<uint16_t, 11> kNotReported{305, 330, 347, 529, 530, 531, 532, 34675, 512, 519, TIFFTAG_XMLPACKET};

/// Tags that libtiff does not list, because it has members for them. Their loss is reported.
constexpr std::array<uint16_t, 7> kLostFields{TIFFTAG_THRESHHOLDING,  TIFFTAG_MINSAMPLEVALUE, TIFFTAG_MAXSAMPLEVALUE,
                                              TIFFTAG_PAGENUMBER,     TIFFTAG_HALFTONEHINTS,  TIFFTAG_SMINSAMPLEVALUE,
                                              TIFFTAG_SMAXSAMPLEVALUE};

const KeptTag* find_kept(uint16_t number) {
    const auto* found = std::ranges::find(kKept, number, &KeptTag::number);
    return found == kKept.end() ? nullptr : found;
}

TiffTag make_tag(uint16_t number, uint16_t type, uint32_t count, const void* values, size_t value_bytes) {
    TiffTag tag{number, type, count, {}};
    const auto* bytes = static_cast<const std::byte*>(values);
    tag.values.assign(bytes, bytes + count * value_bytes);
    return tag;
}

/// Returns `first`, which libtiff has read, or all strings of the tag where others follow, without the last NUL. NULs
/// alone are no string.
std::string all_strings(TIFF* tiff, uint16_t number, const std::string& first) {
    std::string all = read_strings(tiff, number);
    const bool has_others = all.starts_with(first) && all.find_first_not_of('\0', first.size()) != std::string::npos;
    if (!has_others) return first;
    if (all.back() == '\0') all.pop_back();
    return all;
}

/// IPTC is bytes. Some programs call it numbers of 32 bits, whose bytes libtiff swaps where the file has the other
/// order; then the marker that begins IPTC is the last byte of the first number.
void restore_order_of_iptc(TIFF* tiff, TiffTag& tag) {
    constexpr std::byte kMarker{0x1C};
    if (TIFFIsByteSwapped(tiff) == 0 || tag.count % 4 != 0) return;
    if (tag.values[0] == kMarker || tag.values[3] != kMarker) return;
    TIFFSwabArrayOfLong(reinterpret_cast<uint32_t*>(tag.values.data()), tag.count / 4);
}

/// Reads a tag. `values` is empty when the file does not have it, or libtiff does not return it as bytes.
TiffTag read_tag(TIFF* tiff, uint16_t number) {
    const TIFFField* field = TIFFFindField(tiff, number, TIFF_ANY);
    if (field == nullptr) return {};
    const TIFFDataType type = TIFFFieldDataType(field);
    if (type > TIFF_IFD) return {};  // 64-bit type: a classic TIFF cannot hold it
    const auto value_bytes = static_cast<size_t>(std::max(TIFFDataWidth(type), 0));
    if (TIFFFieldPassCount(field) != 0 && TIFFFieldReadCount(field) == TIFF_VARIABLE2) {
        uint32_t count = 0;
        const void* values = nullptr;
        if (TIFFGetField(tiff, number, &count, &values) != 1 || values == nullptr) return {};
        return make_tag(number, static_cast<uint16_t>(type), count, values, value_bytes);
    }
    const char* text = nullptr;
    if (type != TIFF_ASCII || TIFFFieldPassCount(field) != 0 || TIFFGetField(tiff, number, &text) != 1) return {};
    const std::string strings = all_strings(tiff, number, text);
    return make_tag(number, TIFF_ASCII, static_cast<uint32_t>(strings.size()) + 1, strings.c_str(), 1);
}

std::string_view text_of(const TiffTag& tag) {
    const std::string_view text(reinterpret_cast<const char*>(tag.values.data()), tag.values.size());
    return text.substr(0, text.find('\0'));
}

/// The text with its NULs but the last one.
std::string strings_of(const TiffTag& tag) {
    return {reinterpret_cast<const char*>(tag.values.data()), tag.values.size() - 1};
}

void set_text(TiffTag& tag, const std::string& text) {
    tag = make_tag(tag.number, TIFF_ASCII, static_cast<uint32_t>(text.size()) + 1, text.c_str(), 1);
}

std::optional<double> number_in(std::string_view text) {
    constexpr std::string_view kWhiteSpace = " \t\r\n\v\f";
    text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    text = text.substr(0, text.find_last_not_of(kWhiteSpace) + 1);
    double value = 0;
    return read_number(text, value) ? std::optional(value) : std::nullopt;
}

/// Removes one item such as "<Item name="STATISTICS_MEAN" sample="0">12.5</Item>". Returns false when there is none.
bool take_out_statistics(TiffTag& tag) {
    constexpr std::string_view kBegin = "<Item name=\"STATISTICS_";
    constexpr std::string_view kEnd = "</Item>";
    std::string text(text_of(tag));
    bool any = false;
    for (size_t begin = text.find(kBegin); begin != std::string::npos; begin = text.find(kBegin, begin)) {
        const size_t end = text.find(kEnd, begin);
        if (end == std::string::npos) break;
        text.erase(begin, end + kEnd.size() - begin);
        any = true;
    }
    if (any) set_text(tag, text);
    return any;
}

/// True for descriptions by tifffile and ImageJ, which state how the samples are arranged in the file.
bool tells_arrangement(const TiffTag& tag) {
    const std::string_view text = text_of(tag);
    if (is_of_imagej(tag)) return true;
    const bool has_shape = text.starts_with('{') && text.find("\"shape\": [") != std::string_view::npos;
    return tag.number == kImageDescription && (has_shape || text.starts_with("ImageJ="));
}

std::string name_of_lost(TIFF* tiff, uint16_t number) {
    if (number == TIFFTAG_EXIFIFD) return "EXIF";
    if (number == TIFFTAG_GPSIFD) return "GPS position";
    const TIFFField* field = TIFFFindField(tiff, number, TIFF_ANY);
    const bool is_known = field != nullptr && !std::string_view(TIFFFieldName(field)).starts_with("Tag ");
    return is_known ? TIFFFieldName(field) : fmt::format("tag {}", number);
}

void name_lost_tags(TIFF* tiff, ImageMetadata& metadata) {
    const int count = TIFFGetTagListCount(tiff);
    for (int i = 0; i < count; ++i) {
        const auto number = static_cast<uint16_t>(TIFFGetTagListEntry(tiff, i));
        const bool is_trivial = std::ranges::find(kNotReported, number) != kNotReported.end();
        const bool is_kept =
            std::ranges::any_of(metadata.tiff_tags, [&](const TiffTag& tag) { return tag.number == number; });
        if (!is_trivial && !is_kept) metadata.not_kept.push_back(name_of_lost(tiff, number));
    }
    for (const uint16_t number : kLostFields) {
        double values[2];  // large enough for those of each
        if (TIFFGetField(tiff, number, &values[0], &values[1]) == 1)
            metadata.not_kept.push_back(name_of_lost(tiff, number));
    }
    const uint16_t* curves[3];  // of red, green and blue
    if (TIFFGetField(tiff, TIFFTAG_TRANSFERFUNCTION, &curves[0], &curves[1], &curves[2]) == 1)
        metadata.not_kept.push_back(name_of_lost(tiff, TIFFTAG_TRANSFERFUNCTION));
}

/// Registers the tag with libtiff, which refuses to write unknown tags. libtiff keeps pointers to the names.
void register_tag(TIFF* tiff, const TiffTag& tag) {
    const KeptTag* kept = find_kept(tag.number);
    require(kept != nullptr, "a TIFF tag that is not in the table was to be written");
    const TIFFFieldInfo info{tag.number,
                             TIFF_VARIABLE2,
                             TIFF_VARIABLE2,
                             static_cast<TIFFDataType>(tag.type),
                             FIELD_CUSTOM,
                             1,
                             1,
                             const_cast<char*>(kept->name)};
    require(TIFFMergeFieldInfo(tiff, &info, 1) == 0, std::string("libtiff could not take the tag ") + kept->name);
}

}  // namespace

void read_tiff_tags(TIFF* tiff, bool rearranged, ImageMetadata& metadata) {
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &metadata.tiff_compression);
    metadata.tiff_big_endian = TIFFIsBigEndian(tiff) != 0;
    for (const KeptTag& kept : kKept) {
        TiffTag tag = read_tag(tiff, kept.number);
        if (tag.values.empty()) continue;
        if (tag.number == kIptc) restore_order_of_iptc(tiff, tag);
        if (tag.number == kGdalNodata) metadata.nodata = number_in(text_of(tag));
        if (tag.number == kGdalMetadata && take_out_statistics(tag))
            metadata.not_kept.emplace_back("GDAL's statistics");
        if (!rearranged || !tells_arrangement(tag)) metadata.tiff_tags.push_back(std::move(tag));
    }
    metadata.xmp = read_tag(tiff, TIFFTAG_XMLPACKET).values;
    name_lost_tags(tiff, metadata);
}

void write_tiff_tags(const TiffHandle& tiff, const std::vector<TiffTag>& tags) {
    for (const TiffTag& tag : tags) {
        const TIFFField* known = TIFFFindField(tiff.get(), tag.number, TIFF_ANY);
        if (known == nullptr) register_tag(tiff.get(), tag);
        const bool counted = known == nullptr || TIFFFieldPassCount(known) != 0;
        const int status = counted ? TIFFSetField(tiff.get(), tag.number, tag.count, tag.values.data())
                                   : write_strings(tiff.get(), tag.number, strings_of(tag));
        if (status != 1) tiff.fail_writing();
    }
}

std::string tiff_tag_name(uint16_t number) {
    const KeptTag* kept = find_kept(number);
    if (kept == nullptr) return fmt::format("tag {}", number);
    return kept->is_georeference ? "GeoTIFF tags" : kept->name;
}

std::string description_in(const ImageMetadata& metadata) {
    const auto tag = std::ranges::find(metadata.tiff_tags, kImageDescription, &TiffTag::number);
    return tag == metadata.tiff_tags.end() ? "" : std::string(text_of(*tag));
}

void set_description(ImageMetadata& metadata, const std::string& text) {
    auto tag = std::ranges::find(metadata.tiff_tags, kImageDescription, &TiffTag::number);
    if (tag == metadata.tiff_tags.end())
        tag = metadata.tiff_tags.insert(metadata.tiff_tags.begin(), TiffTag{.number = kImageDescription});
    set_text(*tag, text);
}

void drop_truncation(ImageMetadata& metadata) {
    for (TiffTag& tag : metadata.tiff_tags) {
        if (tag.number != kImageDescription) continue;
        std::string text(text_of(tag));
        for (const std::string_view entry : {"\"truncated\": true, ", ", \"truncated\": true"})
            if (const size_t begin = text.find(entry); begin != std::string::npos) text.erase(begin, entry.size());
        if (text != text_of(tag)) set_text(tag, text);
    }
}

bool is_of_imagej(const TiffTag& tag) { return tag.number == kImageJCounts || tag.number == kImageJMetadata; }

bool is_bound_to_stack(const TiffTag& tag) {
    const bool is_ome = tag.number == kImageDescription && text_of(tag).find("<OME") != std::string_view::npos;
    return is_ome || tells_arrangement(tag);
}

bool is_bound_to_extent(const TiffTag& tag) {
    const KeptTag* kept = find_kept(tag.number);
    return is_bound_to_stack(tag) || (kept != nullptr && kept->is_georeference);
}

std::string compression_name(uint16_t compression) {
    const TIFFCodec* codec = TIFFFindCODEC(compression);
    return codec == nullptr ? fmt::format("compression {}", compression) : fmt::format("{} compression", codec->name);
}

bool can_compress_again(uint16_t compression) {
    constexpr std::array<uint16_t, 6> kLossless{COMPRESSION_LZW,      COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
                                                COMPRESSION_PACKBITS, COMPRESSION_ZSTD,          COMPRESSION_LZMA};
    return std::ranges::find(kLossless, compression) != kLossless.end() && TIFFIsCODECConfigured(compression) != 0;
}

}  // namespace pb::image
