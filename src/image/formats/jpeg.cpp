#include "image/formats/jpeg.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>

namespace pb::image {
namespace {

void take_xmp(std::string_view packet, ImageMetadata& metadata) {
    if (!metadata.xmp.empty()) return name_lost("a second packet of XMP", metadata);
    metadata.xmp = bytes_of_text(packet);
}

/// APP1 holds EXIF, XMP, or the rest of an XMP packet that is longer than a marker.
void take_app1(std::string_view text, ImageMetadata& metadata) {
    if (text.starts_with(kExifMark))
        keep_exif(bytes_of_text(text), metadata);
    else if (text.starts_with(kXmpMark))
        take_xmp(text.substr(kXmpMark.size()), metadata);
    else
        name_lost(text.starts_with("http://ns.adobe.com/xmp/") ? "XMP of more than 64 KB" : "data of a program (APP1)",
                  metadata);
}

/// Markers APP<n> that are read, or of no meaning beside the pixels, when they begin like this.
struct ReadMarker {
    int application;
    std::string_view begin;
};
constexpr ReadMarker kReadMarkers[] = {{0, {"JFIF\0", 5}}, {2, {"ICC_PROFILE\0", 12}}, {14, "Adobe"}};

constexpr int kNumApplications = 16;

bool is_read(int application, std::string_view text) {
    return std::ranges::any_of(kReadMarkers, [&](const ReadMarker& marker) {
        return marker.application == application && text.starts_with(marker.begin);
    });
}

/// Names a marker whose content is lost.
std::string name_of_marker(int application, std::string_view text) {
    if (application == 2 && text.starts_with("MPF")) return "further pictures";
    if (application == 11) return "content credentials (APP11)";  // JUMBF
    return fmt::format("data of a program (APP{})", application);
}

void take_marker(const jpeg_marker_struct& marker, ImageMetadata& metadata) {
    const std::string_view text(reinterpret_cast<const char*>(marker.data), marker.data_length);
    const int application = marker.marker - JPEG_APP0;
    const auto* copied = std::ranges::find(kCopiedMarkers, marker.marker, &CopiedMarker::number);
    if (copied != std::end(kCopiedMarkers))
        keep({kJpegExtension, copied->type, copied->meaning, bytes_of_text(text)}, metadata);
    else if (application == 1)
        take_app1(text, metadata);
    else if (!is_read(application, text))
        name_lost(name_of_marker(application, text), metadata);
}

/// How much of a marker is kept in memory.
unsigned bytes_wanted(int application) {
    constexpr unsigned kWhole = 0xFFFF, kNameOnly = 1;
    return application <= 2 || application == 14 ? kWhole : kNameOnly;
}

/// Decodes a file with libjpeg, once.
class JpegReader {
  public:
    JpegReader(const RandomAccessFile& file, std::span<const std::byte> bytes) : file_(file) {
        codec_.err = start_jpeg_errors(error_);
        constexpr unsigned kWholeMarker = 0xFFFF;
        run([&] {
            jpeg_create_decompress(&codec_);
            jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
            for (int n = 0; n < kNumApplications; ++n) jpeg_save_markers(&codec_, JPEG_APP0 + n, bytes_wanted(n));
            for (const CopiedMarker& copied : kCopiedMarkers) jpeg_save_markers(&codec_, copied.number, kWholeMarker);
            jpeg_read_header(&codec_, TRUE);
        });
    }
    ~JpegReader() { jpeg_destroy_decompress(&codec_); }
    JpegReader(const JpegReader&) = delete;
    JpegReader& operator=(const JpegReader&) = delete;

    [[nodiscard]] ImageInfo info() const {
        const J_COLOR_SPACE colours = codec_.jpeg_color_space;
        if (colours == JCS_CMYK || colours == JCS_YCCK)
            file_.refuse("it is a CMYK image", "convert it to RGB, with the printer's profile, first");
        if (colours != JCS_GRAYSCALE && colours != JCS_YCbCr && colours != JCS_RGB)
            file_.refuse("its colour space is unknown", "convert it to RGB or gray");
        file_.require_room(stated_size(), file_.size());
        return {{codec_.image_height, codec_.image_width}, colours == JCS_GRAYSCALE ? 1 : 3, DType::u8, false};
    }

    [[nodiscard]] bool has_lossy_colours() const { return codec_.jpeg_color_space == JCS_YCbCr; }

    [[nodiscard]] ImageMetadata metadata() {
        ImageMetadata metadata;
        bool has_profile = false;
        read_density(metadata);
        for (const auto* marker = codec_.marker_list; marker != nullptr; marker = marker->next) {
            const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
            has_profile |= marker->marker == JPEG_APP0 + 2 && is_read(2, text);
            take_marker(*marker, metadata);
        }
        JOCTET* profile = nullptr;
        unsigned length = 0;
        run([&] { (void)jpeg_read_icc_profile(&codec_, &profile, &length); });
        const std::unique_ptr<JOCTET, decltype(&std::free)> owner(profile, &std::free);
        const auto* bytes = reinterpret_cast<const std::byte*>(profile);
        if (profile != nullptr) metadata.icc_profile.assign(bytes, bytes + length);
        if (has_profile && profile == nullptr) metadata.not_kept.emplace_back("damaged colour profile");
        return metadata;
    }

    void read_rows(Image& image) {
        auto* first = image.as<JSAMPLE>();
        const size_t row_bytes = image.row_bytes();
        run([&] {
            codec_.out_color_space = image.channels() == 1 ? JCS_GRAYSCALE : JCS_RGB;
            jpeg_start_decompress(&codec_);
            while (codec_.output_scanline < codec_.output_height) {
                JSAMPROW row = first + codec_.output_scanline * row_bytes;
                jpeg_read_scanlines(&codec_, &row, 1);
            }
            jpeg_finish_decompress(&codec_);
        });
    }

  private:
    void read_density(ImageMetadata& metadata) const {
        constexpr double kPerMetre[] = {0, 100 / 2.54, 100};  // by JFIF's unit: none, dots per inch, dots per cm
        if (codec_.saw_JFIF_marker == FALSE) return;
        if (codec_.density_unit == 0 && codec_.X_density != codec_.Y_density)
            metadata.not_kept.emplace_back(kAspectRatio);
        if (codec_.density_unit < 1 || codec_.density_unit > 2) return;
        metadata.x_resolution_per_m = codec_.X_density * kPerMetre[codec_.density_unit];
        metadata.y_resolution_per_m = codec_.Y_density * kPerMetre[codec_.density_unit];
    }

    /// A Huffman code spends at least one bit on each block of 8 x 8 pixels; an arithmetic code may spend less.
    [[nodiscard]] StatedSize stated_size() const {
        const uint64_t pixels_per_byte = codec_.arith_code != FALSE ? uint64_t{1} << 20U : uint64_t{8} * DCTSIZE2;
        return {codec_.image_height, codec_.image_width, codec_.image_width, pixels_per_byte};
    }

    template <class Code>
    void run(const Code& code) {
        if (guarded_jpeg(error_, code)) return;
        const std::string text = error_.text;
        const int reason = error_.manager.msg_code;
        const bool is_of_another_kind = reason == JERR_BAD_PRECISION || reason == JERR_SOF_UNSUPPORTED;
        jpeg_destroy_decompress(&codec_);  // needed because the constructor may call this function
        if (is_of_another_kind)
            file_.refuse("it is no baseline or progressive JPEG of 8 bits (" + text + ")",
                         "convert it to one, or to PNG or TIFF with all its bits");
        file_.refuse_damaged(text);
    }

    const RandomAccessFile& file_;
    JpegError error_;
    jpeg_decompress_struct codec_{};
};

}  // namespace

std::unique_ptr<ImageFile> open_jpeg(OpenedFile file) {
    const std::vector<std::byte> bytes = file->read_all();
    JpegReader reader(*file, bytes);
    const ImageInfo info = reader.info();
    ImageMetadata metadata = reader.metadata();
    const auto decode = [](const RandomAccessFile& opened, Image& image) {
        const std::vector<std::byte> content = opened.read_all();
        JpegReader(opened, content).read_rows(image);
    };
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode,
                                         reader.has_lossy_colours());
}

}  // namespace pb::image
