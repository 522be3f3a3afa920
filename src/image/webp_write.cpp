// WebP without loss. The format has no gray: a gray image is written with three equal channels.
#include "base/handle.hpp"
#include "image/formats.hpp"
#include "image/interleaved.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <cstddef>
#include <span>

namespace pb::image {
namespace {

std::span<const std::byte> bytes_of(const uint8_t* first, size_t count) {
    return {reinterpret_cast<const std::byte*>(first), count};
}

[[noreturn]] void fail(const std::string& what) { throw Error("writing WebP failed: " + what); }

class WebpEncoder {
  public:
    explicit WebpEncoder(const ImageToSave& image) {
        WebPMemoryWriterInit(&encoded_);
        if (WebPPictureInit(&picture_) == 0) fail("its library is of another version");
        picture_.use_argb = 1;
        picture_.width = static_cast<int>(image.pixels.extent.w);
        picture_.height = static_cast<int>(image.pixels.extent.h);
        if (WebPPictureAlloc(&picture_) == 0) fail("out of memory");
        picture_.writer = WebPMemoryWrite;
        picture_.custom_ptr = &encoded_;
    }
    ~WebpEncoder() {
        WebPPictureFree(&picture_);
        WebPMemoryWriterClear(&encoded_);
    }
    WebpEncoder(const WebpEncoder&) = delete;
    WebpEncoder& operator=(const WebpEncoder&) = delete;

    [[nodiscard]] WebPData encode(const ImageToSave& image) {
        fill(image);
        constexpr int kFastLevel = 2;  // of 9; 6 is libwebp's default and takes many times as long
        WebPConfig config;
        if (WebPConfigInit(&config) == 0 || WebPConfigLosslessPreset(&config, kFastLevel) == 0)
            fail("its library is of another version");
        config.exact = 1;  // keeps the colours of transparent pixels
        if (WebPEncode(&config, &picture_) == 0)
            fail(fmt::format("libwebp's error {}", static_cast<int>(picture_.error_code)));
        return {encoded_.mem, encoded_.size};
    }

  private:
    void fill(const ImageToSave& image) {
        InterleavingRows rows(image);
        const bool colour = image.pixels.channels == 3;
        const bool alpha = has_alpha(image);
        const int64_t channels = rows.channels();
        for (int64_t y = 0; y < image.pixels.extent.h; ++y) {
            const auto* from = reinterpret_cast<const uint8_t*>(rows.row(y));
            uint32_t* to = picture_.argb + y * picture_.argb_stride;
            for (int64_t x = 0; x < image.pixels.extent.w; ++x, from += channels) {
                const uint32_t red = from[0], green = from[colour ? 1 : 0], blue = from[colour ? 2 : 0];
                const uint32_t opacity = alpha ? from[channels - 1] : 255U;
                to[x] = opacity << 24U | red << 16U | green << 8U | blue;
            }
        }
    }

    WebPPicture picture_{};
    WebPMemoryWriter encoded_{};
};

void set_chunk(WebPMux* mux, const char* name, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return;
    const WebPData chunk{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    constexpr int kNoCopy = 0;
    if (WebPMuxSetChunk(mux, name, &chunk, kNoCopy) != WEBP_MUX_OK) fail(std::string("its chunk ") + name);
}

void write_with_metadata(const WebPData& pixels, const ImageMetadata& metadata, AtomicFile& file) {
    const Handle<WebPMux*, WebPMuxDelete> mux(WebPMuxNew());
    if (mux == nullptr || WebPMuxSetImage(mux.get(), &pixels, 0) != WEBP_MUX_OK) fail("out of memory");
    if (!is_gray_profile(metadata.icc_profile)) set_chunk(mux.get(), "ICCP", metadata.icc_profile);
    set_chunk(mux.get(), "EXIF", metadata.exif);
    WebPData whole{};
    const bool assembled = WebPMuxAssemble(mux.get(), &whole) == WEBP_MUX_OK;
    const Handle<WebPData*, WebPDataClear> owner(&whole);
    if (!assembled) fail("its metadata do not fit into the file");
    file.append(bytes_of(whole.bytes, whole.size));
}

}  // namespace

void write_webp(const ImageToSave& image, AtomicFile& file) {
    WebpEncoder encoder(image);
    const WebPData pixels = encoder.encode(image);
    const bool has_metadata =
        image.metadata != nullptr && !(image.metadata->icc_profile.empty() && image.metadata->exif.empty());
    if (has_metadata)
        write_with_metadata(pixels, *image.metadata, file);
    else
        file.append(bytes_of(pixels.bytes, pixels.size));
}

}  // namespace pb::image
