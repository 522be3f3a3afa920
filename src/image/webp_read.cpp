#include "base/handle.hpp"
#include "image/decoded_file.hpp"
#include "image/exif.hpp"

#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/mux.h>

#include <string_view>
#include <utility>

namespace pb::image {
namespace {

using Bytes = std::vector<std::byte>;

const uint8_t* first_of(const Bytes& bytes) { return reinterpret_cast<const uint8_t*>(bytes.data()); }

std::string reason_of(VP8StatusCode status) {
    if (status == VP8_STATUS_OUT_OF_MEMORY) return "out of memory";
    if (status == VP8_STATUS_SUSPENDED || status == VP8_STATUS_NOT_ENOUGH_DATA) return "its pixels end early";
    return "libwebp does not understand its pixels";
}

/// Refuses a container that is longer than the file. libwebp would decode the pixels that are there.
void check_length(const RandomAccessFile& file, const Bytes& bytes) {
    constexpr size_t kHeaderBytes = 12;  // "RIFF", length of the rest, "WEBP"
    if (bytes.size() < kHeaderBytes || bytes[0] != std::byte{'R'}) file.refuse_damaged("it is no RIFF file");
    uint64_t rest = 0;
    for (size_t i = 0; i < 4; ++i) rest |= std::to_integer<uint64_t>(bytes[4 + i]) << (8 * i);
    if (rest + 8 > bytes.size())
        file.refuse_damaged(fmt::format("its header says {} bytes, the file has {}", rest + 8, bytes.size()));
}

/// The size needs no check against the length of the file: the format ends at 16383 pixels a side, and an image of one
/// colour takes a few bytes whatever its size.
ImageInfo read_info(const RandomAccessFile& file, const Bytes& bytes) {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(first_of(bytes), bytes.size(), &features);
    if (status != VP8_STATUS_OK) file.refuse_damaged(reason_of(status));
    if (features.has_animation != 0) file.refuse("it is an animation (more than one page)", "export one frame");
    return {{features.height, features.width}, 3, DType::u8, features.has_alpha != 0};
}

Bytes read_chunk(const WebPMux* mux, const char* name) {
    WebPData chunk{};
    if (WebPMuxGetChunk(mux, name, &chunk) != WEBP_MUX_OK) return {};
    const auto* first = reinterpret_cast<const std::byte*>(chunk.bytes);
    return {first, first + chunk.size};
}

ImageMetadata read_metadata(const RandomAccessFile& file, const Bytes& bytes) {
    const WebPData whole{first_of(bytes), bytes.size()};
    const Handle<WebPMux*, WebPMuxDelete> mux(WebPMuxCreate(&whole, 0));
    if (mux == nullptr) file.refuse_damaged("its chunks do not fit together");
    ImageMetadata metadata;
    metadata.icc_profile = read_chunk(mux.get(), "ICCP");
    metadata.exif = read_chunk(mux.get(), "EXIF");
    const std::string_view exif(reinterpret_cast<const char*>(metadata.exif.data()), metadata.exif.size());
    if (exif.starts_with(kExifMark))  // some programs copy the mark of JPEG, too
        metadata.exif.erase(metadata.exif.begin(), metadata.exif.begin() + kExifMark.size());
    if (!read_chunk(mux.get(), "XMP ").empty()) metadata.not_kept.emplace_back("XMP");
    return metadata;
}

void decode(const RandomAccessFile& file, InterleavedImage& image) {
    const Bytes bytes = file.read_all();
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) file.refuse("libwebp is of another version", "install its package again");
    config.output.colorspace = image.info.has_alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = reinterpret_cast<uint8_t*>(image.samples.data());
    config.output.u.RGBA.stride = static_cast<int>(image.row_bytes());
    config.output.u.RGBA.size = image.samples.size();
    const VP8StatusCode status = WebPDecode(first_of(bytes), bytes.size(), &config);
    if (status != VP8_STATUS_OK) file.refuse_damaged(reason_of(status));
}

}  // namespace

std::unique_ptr<ImageFile> open_webp(OpenedFile file) {
    const Bytes bytes = file->read_all();
    check_length(*file, bytes);
    const ImageInfo info = read_info(*file, bytes);
    ImageMetadata metadata = read_metadata(*file, bytes);
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode);
}

}  // namespace pb::image
