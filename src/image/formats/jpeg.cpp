#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"

#include "patchbench/base/error.hpp"

// jpeglib.h needs FILE and size_t, jerror.h needs jpeglib.h.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace pb::image {
namespace {

// libjpeg reports an error through a callback that must not return; the callback here uses longjmp. As with libpng,
// code that may jump must not hold an object with a destructor on its own stack.

struct JpegError {
    jpeg_error_mgr manager{};  // must be the first member: libjpeg passes its address to the callback
    std::jmp_buf place{};
    char text[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void keep_jpeg_error(j_common_ptr codec) {
    auto* error = reinterpret_cast<JpegError*>(codec->err);
    codec->err->format_message(codec, error->text);
    std::longjmp(error->place, 1);  // NOLINT(cert-err52-cpp): libjpeg's interface
}

/// libjpeg reports lost pixel data as a warning and fills in gray. Here this is an error; harmless warnings are
/// ignored.
void judge_jpeg_warning(j_common_ptr codec, int level) {
    if (level >= 0) return;
    const int code = codec->err->msg_code;
    const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
                          code == JWRN_BOGUS_ICC || code == JWRN_NOT_SEQUENTIAL;
    if (!harmless) keep_jpeg_error(codec);
}

[[nodiscard]] jpeg_error_mgr* start_jpeg_errors(JpegError& error) {
    jpeg_error_mgr* manager = jpeg_std_error(&error.manager);
    manager->error_exit = keep_jpeg_error;
    manager->emit_message = judge_jpeg_warning;
    manager->output_message = [](j_common_ptr) {};
    return manager;
}

/// Runs `code`. Returns false when libjpeg reported an error.
template <class Code>
[[nodiscard]] bool guarded_jpeg(JpegError& error, const Code& code) {
    if (setjmp(error.place) != 0) return false;  // NOLINT(cert-err52-cpp)
    code();
    return true;
}

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
        bool has_profile = false;
        read_density(metadata);
        for (auto* marker = codec_.marker_list; marker != nullptr; marker = marker->next) {
            const std::string_view text(reinterpret_cast<const char*>(marker->data), marker->data_length);
            const bool is_exif = marker->marker == JPEG_APP0 + 1 && text.starts_with(kExifMark);
            if (marker->marker == JPEG_COM) metadata.not_kept.emplace_back("comment");
            if (marker->marker == JPEG_APP0 + 13) metadata.not_kept.emplace_back("IPTC");
            if (marker->marker == JPEG_APP0 + 1 && !is_exif) metadata.not_kept.emplace_back("XMP");
            if (marker->marker == JPEG_APP0 + 2 && text.starts_with("MPF"))
                metadata.not_kept.emplace_back("further pictures");
            has_profile |= marker->marker == JPEG_APP0 + 2 && text.starts_with("ICC_PROFILE");
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

    /// Refuses a size that the length of the file rules out. A Huffman code spends at least one bit on each block of 8
    /// x 8 pixels; an arithmetic code may spend less.
    void check_size() const {
        const uint64_t pixels_per_byte = codec_.arith_code != FALSE ? uint64_t{1} << 20U : uint64_t{8} * DCTSIZE2;
        const uint64_t width = codec_.image_width;
        const uint64_t height = codec_.image_height;
        if (width * height / pixels_per_byte > file_.size()) file_.refuse_extent(height, width, file_.size());
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
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode);
}

namespace {

class JpegWriter {
  public:
    JpegWriter() {
        codec_.err = start_jpeg_errors(error_);
        run([this] {
            jpeg_create_compress(&codec_);
            jpeg_mem_dest(&codec_, &encoded_, &encoded_bytes_);
        });
    }
    ~JpegWriter() {
        jpeg_destroy_compress(&codec_);
        std::free(encoded_);
    }
    JpegWriter(const JpegWriter&) = delete;
    JpegWriter& operator=(const JpegWriter&) = delete;

    void start(const PixelView& pixels, const ImageMetadata& metadata) {
        constexpr int kQuality = 95;
        run([&] {
            codec_.image_width = static_cast<JDIMENSION>(pixels.extent.w);
            codec_.image_height = static_cast<JDIMENSION>(pixels.extent.h);
            codec_.input_components = static_cast<int>(pixels.channels);
            codec_.in_color_space = pixels.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
            jpeg_set_defaults(&codec_);
            jpeg_set_quality(&codec_, kQuality, TRUE);
            for (int c = 0; c < codec_.num_components; ++c)  // 4:4:4: no chroma subsampling
                codec_.comp_info[c].h_samp_factor = codec_.comp_info[c].v_samp_factor = 1;
            set_density(metadata);
            jpeg_start_compress(&codec_, TRUE);
        });
    }

    void write_markers(const ImageMetadata& metadata) {
        std::vector<JOCTET> block(kExifMark.begin(), kExifMark.end());
        for (const std::byte b : metadata.exif) block.push_back(std::to_integer<JOCTET>(b));
        const bool with_exif = !metadata.exif.empty() && metadata.exif.size() <= kMostExifInJpeg;
        const auto* profile = reinterpret_cast<const JOCTET*>(metadata.icc_profile.data());
        const auto profile_bytes = static_cast<unsigned>(metadata.icc_profile.size());
        run([&] {
            if (with_exif) jpeg_write_marker(&codec_, JPEG_APP0 + 1, block.data(), static_cast<unsigned>(block.size()));
            if (profile_bytes > 0) jpeg_write_icc_profile(&codec_, profile, profile_bytes);
        });
    }

    [[nodiscard]] std::span<const std::byte> write_rows(const PixelView& pixels) {
        run([&] {
            for (int64_t y = 0; y < pixels.extent.h; ++y) {
                // libjpeg takes a pointer to mutable samples but only reads them.
                auto* row = reinterpret_cast<JSAMPROW>(const_cast<std::byte*>(pixels.row(y)));
                jpeg_write_scanlines(&codec_, &row, 1);
            }
            jpeg_finish_compress(&codec_);
        });
        return {reinterpret_cast<const std::byte*>(encoded_), encoded_bytes_};
    }

  private:
    void set_density(const ImageMetadata& metadata) {
        const auto density = jpeg_density(metadata);
        if (!density) return;
        codec_.density_unit = density->per_inch ? 1 : 2;
        codec_.X_density = density->x;
        codec_.Y_density = density->y;
    }

    template <class Code>
    void run(const Code& code) {
        if (!guarded_jpeg(error_, code)) throw Error(std::string("writing JPEG failed: ") + error_.text);
    }

    JpegError error_;
    jpeg_compress_struct codec_{};
    unsigned char* encoded_ = nullptr;
    unsigned long encoded_bytes_ = 0;  // NOLINT(google-runtime-int): libjpeg's type
};

}  // namespace

void write_jpeg(const ImageToSave& image, AtomicFile& file) {
    const ImageMetadata none;
    const ImageMetadata& metadata = image.metadata == nullptr ? none : *image.metadata;
    JpegWriter writer;
    writer.start(image.pixels, metadata);
    writer.write_markers(metadata);
    file.append(writer.write_rows(image.pixels));
}

}  // namespace pb::image
