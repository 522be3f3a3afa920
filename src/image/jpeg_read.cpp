#include "image/decoded_file.hpp"
#include "image/exif.hpp"
#include "image/jpeg_handle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace pb::image {
namespace {

/// Decodes a file with libjpeg, once.
class JpegReader {
  public:
    JpegReader(const RandomAccessFile& file, std::span<const std::byte> bytes) : file_(file) {
        codec_.err = start_jpeg_errors(error_);
        constexpr unsigned kWholeMarker = 0xFFFF;
        constexpr unsigned kNameOnly = 1;
        run([&] {
            jpeg_create_decompress(&codec_);
            jpeg_mem_src(&codec_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
            jpeg_save_markers(&codec_, JPEG_APP0 + 1, kWholeMarker);
            jpeg_save_markers(&codec_, JPEG_APP0 + 2, kWholeMarker);
            for (const int marker : {JPEG_COM, JPEG_APP0 + 13}) jpeg_save_markers(&codec_, marker, kNameOnly);
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
        check_size();
        return {{codec_.image_height, codec_.image_width}, colours == JCS_GRAYSCALE ? 1 : 3, DType::u8, false};
    }

    [[nodiscard]] ImageMetadata metadata() {
        ImageMetadata metadata;
        read_density(metadata);
        for (auto* marker = codec_.marker_list; marker != nullptr; marker = marker->next) {
            const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
            const bool is_exif = marker->marker == JPEG_APP0 + 1 && text.starts_with(kExifMark);
            if (marker->marker == JPEG_COM) metadata.not_kept.emplace_back("comment");
            if (marker->marker == JPEG_APP0 + 13) metadata.not_kept.emplace_back("IPTC");
            if (marker->marker == JPEG_APP0 + 1 && !is_exif) metadata.not_kept.emplace_back("XMP");
            if (!is_exif || !metadata.exif.empty()) continue;
            const auto* block = reinterpret_cast<const std::byte*>(marker->data);
            metadata.exif.assign(block + kExifMark.size(), block + marker->data_length);
        }
        JOCTET* profile = nullptr;
        unsigned length = 0;
        run([&] { (void)jpeg_read_icc_profile(&codec_, &profile, &length); });
        const std::unique_ptr<JOCTET, decltype(&std::free)> owner(profile, &std::free);
        const auto* bytes = reinterpret_cast<const std::byte*>(profile);
        if (profile != nullptr) metadata.icc_profile.assign(bytes, bytes + length);
        return metadata;
    }

    void read_rows(InterleavedImage& image) {
        auto* first = reinterpret_cast<JSAMPROW>(image.samples.data());
        const size_t row_bytes = image.row_bytes();
        run([&] {
            codec_.out_color_space = image.info.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
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
        if (codec_.saw_JFIF_marker == FALSE || codec_.density_unit < 1 || codec_.density_unit > 2) return;
        metadata.x_resolution_per_m = codec_.X_density * kPerMetre[codec_.density_unit];
        metadata.y_resolution_per_m = codec_.Y_density * kPerMetre[codec_.density_unit];
    }

    /// Refuses a size that the length of the file rules out. A Huffman code spends at least one bit on each block of 8
    /// x 8 pixels; an arithmetic code may spend less.
    void check_size() const {
        const uint64_t pixels_per_byte = codec_.arith_code != FALSE ? uint64_t{1} << 20U : uint64_t{8} * DCTSIZE2;
        const uint64_t width = codec_.image_width;
        const uint64_t height = codec_.image_height;
        if (width * height / pixels_per_byte > file_.size())
            file_.refuse_damaged(fmt::format("its header says {}x{} px (height x width), which {} bytes cannot hold",
                                             height, width, file_.size()));
    }

    template <class Code>
    void run(const Code& code) {
        if (guarded(error_, code)) return;
        const std::string text = error_.text;
        jpeg_destroy_decompress(&codec_);  // needed because the constructor may call this function
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
    const auto decode = [](const RandomAccessFile& opened, InterleavedImage& image) {
        const std::vector<std::byte> content = opened.read_all();
        JpegReader(opened, content).read_rows(image);
    };
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode);
}

}  // namespace pb::image
