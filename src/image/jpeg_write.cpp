#include "image/exif.hpp"
#include "image/formats.hpp"
#include "image/interleaved.hpp"
#include "image/jpeg_handle.hpp"

#include "patchbench/base/error.hpp"

#include <cmath>
#include <cstdlib>
#include <string_view>

namespace pb::image {
namespace {

constexpr size_t kMarkerBytes = 65533;  // capacity of a JPEG marker

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
        const bool with_exif = !metadata.exif.empty() && block.size() <= kMarkerBytes;
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
    /// Stores the resolution in dots per inch or per centimetre, whichever whole number is closer: JFIF holds whole
    /// numbers only.
    void set_density(const ImageMetadata& metadata) {
        const double x = metadata.x_resolution_per_m.value_or(0);
        const double y = metadata.y_resolution_per_m.value_or(0);
        constexpr double kInch = 0.0254;
        constexpr double kCentimetre = 0.01;
        const auto deviation = [](double v) { return std::abs(v - std::round(v)); };
        const bool inch = deviation(x * kInch) <= deviation(x * kCentimetre) + 0.01;
        const double unit = inch ? kInch : kCentimetre;
        const auto fits = [unit](double v) { return v * unit >= 0.5 && v * unit < 65535; };
        if (!fits(x) || !fits(y)) return;
        codec_.density_unit = inch ? 1 : 2;
        codec_.X_density = static_cast<UINT16>(std::lround(x * unit));
        codec_.Y_density = static_cast<UINT16>(std::lround(y * unit));
    }

    template <class Code>
    void run(const Code& code) {
        if (!guarded(error_, code)) throw Error(std::string("writing JPEG failed: ") + error_.text);
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
