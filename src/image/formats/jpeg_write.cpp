#include "image/formats/formats.hpp"
#include "image/formats/jpeg.hpp"
#include "image/formats/metadata.hpp"

#include "patchbench/base/error.hpp"

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::image {
namespace {

static_assert(kMostExifInJpeg + kExifMark.size() == kJpegMarkerBytes);
static_assert(kMostXmpInJpeg + kXmpMark.size() == kJpegMarkerBytes);

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
        if (metadata.exif.size() <= kMostExifInJpeg) write_app1(kExifMark, metadata.exif);
        if (metadata.xmp.size() <= kMostXmpInJpeg) write_app1(kXmpMark, metadata.xmp);
        const auto* profile = reinterpret_cast<const JOCTET*>(metadata.icc_profile.data());
        const auto profile_bytes = static_cast<unsigned>(metadata.icc_profile.size());
        run([&] {
            if (profile_bytes > 0 && profile_bytes <= kMostProfileInJpeg)
                jpeg_write_icc_profile(&codec_, profile, profile_bytes);
        });
        for (const FormatBlock& block : metadata.format_blocks)
            for (const CopiedMarker& copied : kCopiedMarkers)
                if (block.extension == kJpegExtension && block.type == copied.type) write(copied.number, block.content);
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
    void write(int marker, std::span<const std::byte> content) {
        run([&] {
            jpeg_write_marker(&codec_, marker, reinterpret_cast<const JOCTET*>(content.data()),
                              static_cast<unsigned>(content.size()));
        });
    }

    /// Writes nothing where there is no block.
    void write_app1(std::string_view mark, std::span<const std::byte> block) {
        if (block.empty()) return;
        std::vector<std::byte> content = bytes_of_text(mark);
        content.insert(content.end(), block.begin(), block.end());
        write(JPEG_APP0 + 1, content);
    }

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
