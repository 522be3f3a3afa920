#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/formats/metadata.hpp"
#include "image/formats/png.hpp"

#include "patchbench/base/error.hpp"

#include <zlib.h>

#include <bit>
#include <span>
#include <string_view>
#include <vector>

namespace pb::image {
namespace {

/// Returns the content of a chunk iCCP, or nothing without a profile. libpng, if asked to write the chunk, leaves out
/// profiles that it finds wrong, such as one of RGB in a gray image.
std::vector<png_byte> make_profile_chunk(std::span<const std::byte> profile) {
    if (profile.empty()) return {};
    constexpr std::string_view kNameAndMethod("ICC profile\0\0", 13);  // method 0: deflate
    uLongf length = compressBound(profile.size());
    std::vector<png_byte> chunk(kNameAndMethod.begin(), kNameAndMethod.end());
    chunk.resize(kNameAndMethod.size() + length);
    const int result = compress(chunk.data() + kNameAndMethod.size(), &length,
                                reinterpret_cast<const Bytef*>(profile.data()), profile.size());
    require(result == Z_OK, "zlib could not compress the colour profile");
    chunk.resize(kNameAndMethod.size() + length);
    return chunk;
}

static_assert(kMostXmpInPng + kXmpKeyword.size() == kMostInPngChunk);

class PngWriter {
  public:
    explicit PngWriter(AtomicFile& file)
        : file_(file),
          png_(png_create_write_struct(PNG_LIBPNG_VER_STRING, &error_, keep_png_error, ignore_png_warning)) {
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
        if (info_ == nullptr) {
            png_destroy_write_struct(&png_, nullptr);
            throw Error("libpng could not start: out of memory, or its library is of another version");
        }
        png_set_write_fn(png_, this, write_bytes, [](png_structp) {});
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    }
    ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
    PngWriter(const PngWriter&) = delete;
    PngWriter& operator=(const PngWriter&) = delete;

    void set_header(const ImageToSave& image) {
        const bool alpha = has_alpha(image);
        const int colour = (image.pixels.channels == 3 ? PNG_COLOR_MASK_COLOR : 0) | (alpha ? PNG_COLOR_MASK_ALPHA : 0);
        const int bits = image.pixels.dtype == DType::u16 ? 16 : 8;
        constexpr int kFastLevel = 3;  // of 9: takes a third of the default's time, for files a few per cent larger
        run([&] {
            png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.pixels.extent.w),
                         static_cast<png_uint_32>(image.pixels.extent.h), bits, colour, PNG_INTERLACE_NONE,
                         PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
            png_set_compression_level(png_, kFastLevel);
            png_set_filter(png_, PNG_FILTER_TYPE_BASE, PNG_FAST_FILTERS);
        });
    }

    void set_metadata(const ImageMetadata& metadata) {
        if (metadata.icc_profile.size() <= kMostProfileInPng) profile_chunk_ = make_profile_chunk(metadata.icc_profile);
        texts_ = metadata.format_blocks;
        if (metadata.exif.size() <= kMostExifInPng) exif_ = metadata.exif;
        if (const auto dots = dots_per_metre(metadata))
            run([&] { png_set_pHYs(png_, info_, dots->x, dots->y, PNG_RESOLUTION_METER); });
        if (metadata.xmp.empty() || metadata.xmp.size() > kMostXmpInPng) return;
        xmp_chunk_ = bytes_of_text(kXmpKeyword);
        xmp_chunk_.insert(xmp_chunk_.end(), metadata.xmp.begin(), metadata.xmp.end());
    }

    void write_rows(const ImageToSave& image) {
        InterleavingRows rows(image);
        run([&] {
            png_write_info_before_PLTE(png_, info_);
            if (!profile_chunk_.empty()) write_chunk("iCCP", std::as_bytes(std::span(profile_chunk_)));
            png_write_info(png_, info_);
            if (!exif_.empty()) write_chunk("eXIf", exif_);  // libpng would write each byte by itself
            if (!xmp_chunk_.empty()) write_chunk("iTXt", xmp_chunk_);
            for (const FormatBlock& block : texts_)
                if (block.extension == ".png") write_chunk(block.type.data(), block.content);
            if (std::endian::native == std::endian::little) png_set_swap(png_);
            for (int64_t y = 0; y < image.pixels.extent.h; ++y)
                png_write_row(png_, reinterpret_cast<png_const_bytep>(rows.row(y)));
            png_write_end(png_, nullptr);
        });
    }

  private:
    void write_chunk(const char* type, std::span<const std::byte> content) {
        png_write_chunk(png_, reinterpret_cast<png_const_bytep>(type),
                        reinterpret_cast<png_const_bytep>(content.data()), content.size());
    }

    static void write_bytes(png_structp png, png_bytep from, size_t count) {
        auto* self = static_cast<PngWriter*>(png_get_io_ptr(png));
        if (!self->try_append({reinterpret_cast<const std::byte*>(from), count})) png_error(png, "writing failed");
    }

    [[nodiscard]] bool try_append(std::span<const std::byte> bytes) noexcept {
        try {
            file_.append(bytes);
            return true;
        } catch (...) {
            error_.cause = std::current_exception();
            return false;
        }
    }

    template <class Code>
    void run(const Code& code) {
        if (guarded(png_, code)) return;
        if (error_.cause) std::rethrow_exception(error_.cause);
        throw Error(std::string("writing PNG failed: ") + error_.text);
    }

    AtomicFile& file_;
    PngError error_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    std::vector<png_byte> profile_chunk_;
    std::span<const std::byte> exif_;
    std::vector<std::byte> xmp_chunk_;
    std::span<const FormatBlock> texts_;
};

}  // namespace

void write_png(const ImageToSave& image, AtomicFile& file) {
    PngWriter writer(file);
    writer.set_header(image);
    if (image.metadata != nullptr) writer.set_metadata(*image.metadata);
    writer.write_rows(image);
}

}  // namespace pb::image
