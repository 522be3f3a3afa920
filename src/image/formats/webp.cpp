#include "base/descriptor.hpp"
#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/metadata.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace pb::image {
namespace {

using Bytes = std::vector<std::byte>;

const uint8_t* first_of(const Bytes& bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

std::string webp_reason(VP8StatusCode status) {
    if (status == VP8_STATUS_OUT_OF_MEMORY) return "out of memory";
    if (status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA) return "its pixels end early";
    return "libwebp does not understand its pixels";
}

/// Refuses a container that is longer than the file. libwebp would decode the pixels that are there.
void check_length(const RandomAccessFile& file, const Bytes& bytes) {
    constexpr size_t kHeaderBytes = 12;  // "RIFF", length of the rest, "WEBP"
    if (bytes.size() < kHeaderBytes || bytes[0] != std::byte{'R'}) file.refuse_damaged("it is no RIFF file");
    const uint64_t rest = number_in(std::span(bytes).subspan(4, 4));
    if (rest + 8 > bytes.size())
        file.refuse_damaged(fmt::format("its header says {} bytes, the file has {}", rest + 8, bytes.size()));
}

/// The size needs no check against the length of the file: the format ends at 16383 pixels a side, and an image of one
/// colour takes a few bytes whatever its size.
WebPBitstreamFeatures read_features(const RandomAccessFile& file, const Bytes& bytes) {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(first_of(bytes), bytes.size(), &features);
    if (status != VP8_STATUS_OK) file.refuse_damaged(webp_reason(status));
    if (features.has_animation != 0) file.refuse("it is an animation (more than one page)", "export one frame");
    return features;
}

/// Chunks of the pixels, and of animations, which are refused.
constexpr std::string_view kPixelChunks[] = {"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF"};

std::string printable(std::string_view name) {
    std::string text(name);
    for (char& c : text)
        if (c < ' ' || c > '~') c = '?';
    return text;
}

/// Takes the first chunk of its kind.
void take_chunk(std::string_view name, std::span<const std::byte> content, ImageMetadata& metadata) {
    const auto take = [&](Bytes& kept, const char* again) {
        if (!kept.empty()) return name_lost(again, metadata);
        kept.assign(content.begin(), content.end());
    };
    if (name == "ICCP")
        take(metadata.icc_profile, "a second colour profile");
    else if (name == "XMP ")
        take(metadata.xmp, "a second packet of XMP");
    else if (name == "EXIF")
        keep_exif({content.begin(), content.end()}, metadata);
    else if (std::ranges::count(kPixelChunks, name) == 0)
        name_lost("chunk " + printable(name), metadata);
}

/// Refuses pixels that end before they state their size. libwebp then takes that of the extended header.
void check_pixels(const RandomAccessFile& file, std::span<const std::byte> chunk) {
    WebPBitstreamFeatures found;
    const auto* first = reinterpret_cast<const uint8_t*>(chunk.data());
    const VP8StatusCode status = WebPGetFeatures(first, chunk.size(), &found);
    if (status != VP8_STATUS_OK) file.refuse_damaged(webp_reason(status));
}

/// Walks through the chunks of the container, of which check_length has checked the length. libwebp would refuse files
/// whose header does not list all of them.
ImageMetadata read_chunks(const RandomAccessFile& file, const Bytes& bytes) {
    constexpr size_t kRiffHeader = 12, kChunkHeader = 8;
    const std::span all(bytes);
    const size_t end = number_in(all.subspan(4, 4)) + kChunkHeader;
    ImageMetadata metadata;
    bool has_pixels = false;
    for (size_t offset = kRiffHeader; offset < end;) {
        const size_t rest = end - offset;
        const size_t length = rest < kChunkHeader ? rest : number_in(all.subspan(offset + 4, 4));
        if (kChunkHeader + length > rest) file.refuse_damaged("its chunks do not fit together");
        const std::string_view name(reinterpret_cast<const char*>(&bytes[offset]), 4);
        const bool is_of_pixels = name == "VP8 " || name == "VP8L";
        if (is_of_pixels) check_pixels(file, all.subspan(offset, kChunkHeader + length));
        has_pixels |= is_of_pixels;
        take_chunk(name, all.subspan(offset + kChunkHeader, length), metadata);
        offset += kChunkHeader + length + length % 2;
    }
    if (!has_pixels) file.refuse_damaged("it has no pixels");
    return metadata;
}

void decode(const RandomAccessFile& file, Image& image) {
    const Bytes bytes = file.read_all();
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) file.refuse("libwebp is of another version", "install its package again");
    config.output.colorspace = image.channels() == 4 ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = image.as<uint8_t>();
    config.output.u.RGBA.stride = static_cast<int>(image.row_bytes());
    config.output.u.RGBA.size = image.bytes().size();
    const VP8StatusCode status = WebPDecode(first_of(bytes), bytes.size(), &config);
    if (status != VP8_STATUS_OK) file.refuse_damaged(webp_reason(status));
}

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
    set_chunk(mux.get(), "XMP ", metadata.xmp);
    WebPData whole{};
    const bool assembled = WebPMuxAssemble(mux.get(), &whole) == WEBP_MUX_OK;
    const Handle<WebPData*, WebPDataClear> owner(&whole);
    if (!assembled) fail("its metadata do not fit into the file");
    file.append(bytes_of(whole.bytes, whole.size));
}

}  // namespace

std::unique_ptr<ImageFile> open_webp(OpenedFile file) {
    const Bytes bytes = file->read_all();
    check_length(*file, bytes);
    const WebPBitstreamFeatures features = read_features(*file, bytes);
    const ImageInfo info{{features.height, features.width}, 3, DType::u8, features.has_alpha != 0};
    ImageMetadata metadata = read_chunks(*file, bytes);
    constexpr int kLossy = 1;  // of WebPBitstreamFeatures::format
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode, features.format == kLossy);
}

/// WebP without loss. The format has no gray: a gray image is written with three equal channels.
void write_webp(const ImageToSave& image, AtomicFile& file) {
    WebpEncoder encoder(image);
    const WebPData pixels = encoder.encode(image);
    const ImageMetadata* metadata = image.metadata;
    if (metadata != nullptr && !(metadata->icc_profile.empty() && metadata->exif.empty() && metadata->xmp.empty()))
        write_with_metadata(pixels, *image.metadata, file);
    else
        file.append(bytes_of(pixels.bytes, pixels.size));
}

}  // namespace pb::image
