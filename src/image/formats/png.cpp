#include "image/formats/png.hpp"

#include "image/formats/formats.hpp"
#include "image/formats/metadata.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pb::image {
namespace {

constexpr uint64_t kDeflateRatio = 1032;  // largest compression ratio of deflate (zlib's technical details)

struct PngChunks {
    ImageMetadata metadata;         // all but the resolution
    uint64_t pixel_data_bytes = 0;  // sum of all IDAT chunks
    bool is_animated = false;
    bool has_profile = false;  // whole or damaged
};

constexpr std::string_view kTexts[] = {"tEXt", "zTXt", "iTXt"};

bool is_text(std::string_view type) { return std::ranges::count(kTexts, type) > 0; }

/// Whether a chunk is none that is kept, and one that other programs copy whatever they do to the pixels: its first and
/// its last letter are small (PNG specification, "ancillary" and "safe to copy").
bool is_for_copying(std::string_view type) {
    const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto is_letter = [&](char c) { return is_small(c) || (c >= 'A' && c <= 'Z'); };
    return is_small(type.front()) && is_small(type.back()) && std::ranges::all_of(type, is_letter) && type != "eXIf" &&
           type != "pHYs" && !is_text(type);
}

/// Returns the name of a chunk's metadata if it is lost, or an empty text. sRGB and its gAMA have no name because
/// readers assume them. The other chunks without a name describe the pixels, which are kept.
std::string name_of_lost(std::string_view type, uint64_t first) {
    constexpr uint32_t kGammaOfSrgb = 45455;  // 1 / 2.2, times 100000
    if (type == "tIME") return "time of change (tIME)";
    if (type == "cHRM" || type == "cICP" || type == "mDCV" || type == "mDCv" || type == "cLLI" || type == "cLLi" ||
        (type == "gAMA" && first != kGammaOfSrgb))
        return "colour tags other than the profile";
    if (type == "sBIT") return "number of significant bits";
    if (type == "bKGD") return "background colour";
    if (type == "oFFs" || type == "sCAL" || type == "pCAL") return "position and scale";
    if (type == "sPLT") return "suggested palette";
    if (type == "sTER") return "stereo layout";
    if (is_for_copying(type)) return fmt::format("chunk {}", type);
    return {};
}

/// Returns the profile in a chunk iCCP, or nothing where it is damaged. libpng would also refuse profiles that it finds
/// wrong, such as one of RGB in a gray image.
std::vector<std::byte> profile_in(std::span<const std::byte> chunk) {
    constexpr uint64_t kMostProfile = uint64_t{64} << 20U;
    constexpr std::ptrdiff_t kNameEndAndMethod = 2;  // behind the profile's name
    const auto name_end = std::ranges::find(chunk, std::byte{0});
    if (chunk.end() - name_end < kNameEndAndMethod) return {};
    const std::span<const std::byte> stream(name_end + kNameEndAndMethod, chunk.end());
    std::vector<std::byte> profile(std::min(kMostProfile, kDeflateRatio * stream.size()));
    uLongf length = profile.size();
    const int result = uncompress(reinterpret_cast<Bytef*>(profile.data()), &length,
                                  reinterpret_cast<const Bytef*>(stream.data()), stream.size());
    if (result != Z_OK) return {};
    return {profile.begin(), profile.begin() + static_cast<std::ptrdiff_t>(length)};  // without the spare room
}

/// Takes the first profile, as libpng does, whether it is damaged or not: each takes time to inflate.
template <class Content>
void take_profile(const Content& content, PngChunks& chunks) {
    if (std::exchange(chunks.has_profile, true)) return name_lost("a second colour profile", chunks.metadata);
    chunks.metadata.icc_profile = profile_in(content());
    if (chunks.metadata.icc_profile.empty()) name_lost("damaged colour profile", chunks.metadata);
}

/// XMP is a text that is not compressed, with a keyword of its own (XMP specification, part 3).
void take_text(std::string_view type, std::vector<std::byte> content, ImageMetadata& metadata) {
    const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
    if (type == "iTXt" && text.starts_with(kXmpKeyword) && metadata.xmp.empty())
        metadata.xmp.assign(content.begin() + kXmpKeyword.size(), content.end());
    else
        keep({".png", *std::ranges::find(kTexts, type), "text", std::move(content)}, metadata);
}

/// Reads the list of chunks of a PNG file without decoding it. This detects a truncated file before memory is
/// allocated, and finds metadata that libpng would report only after the pixels. Throws UsageError when a chunk reaches
/// past the end of the file or IEND is missing.
PngChunks walk_png_chunks(const RandomAccessFile& file) {
    constexpr uint64_t kSignatureBytes = 8;
    constexpr uint64_t kFramingBytes = 12;  // length, type and CRC of a chunk
    PngChunks chunks;
    ImageMetadata& metadata = chunks.metadata;
    for (uint64_t offset = kSignatureBytes;;) {
        std::array<std::byte, 8> head{};
        file.read_at(offset, head);
        const uint64_t length = number_in(std::span(head).first(4), true);
        if (length + kFramingBytes > file.size() - offset)
            file.refuse_damaged(fmt::format("a chunk at byte {} reaches past the end", offset));
        const std::string_view type(reinterpret_cast<const char*>(head.data()) + 4, 4);
        if (type == "IEND") return chunks;
        if (type == "IDAT") chunks.pixel_data_bytes += length;
        std::array<std::byte, 4> first{};
        if (type == "gAMA" && length >= first.size()) file.read_at(offset + head.size(), first);
        std::string name = name_of_lost(type, number_in(first, true));
        if (!name.empty()) name_lost(std::move(name), metadata);
        if (type == "acTL") chunks.is_animated = true;
        const auto content = [&] {
            std::vector<std::byte> bytes(length);
            file.read_at(offset + head.size(), bytes);
            return bytes;
        };
        if (is_text(type)) take_text(type, content(), metadata);
        if (type == "eXIf") keep_exif(content(), metadata);
        if (type == "iCCP") take_profile(content, chunks);
        offset += length + kFramingBytes;
    }
}

/// Decodes a file with libpng, once. The image has alpha also where the file has only a transparent colour (tRNS).
class PngReader {
  public:
    explicit PngReader(const RandomAccessFile& file)
        : file_(file),
          png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, &error_, keep_png_error, ignore_png_warning)) {
        if (png_ != nullptr) info_ = png_create_info_struct(png_);
        if (info_ == nullptr) {
            png_destroy_read_struct(&png_, nullptr, nullptr);
            throw Error("libpng could not start: out of memory, or its library is of another version");
        }
        png_set_read_fn(png_, this, read_bytes);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    }
    ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
    PngReader(const PngReader&) = delete;
    PngReader& operator=(const PngReader&) = delete;

    [[nodiscard]] ImageInfo read_header() {
        run([this] {
            // They were read beforehand, and libpng would ask for each byte of EXIF by itself.
            constexpr int kCount = 2;
            png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, reinterpret_cast<png_const_bytep>("eXIf\0iCCP"),
                                        kCount);
            png_read_info(png_, info_);
            file_row_bytes_ = png_get_rowbytes(png_, info_);
            expand();
            passes_ = png_set_interlace_handling(png_);
        });
        const int bits = png_get_bit_depth(png_, info_);
        const int colour = png_get_color_type(png_, info_);
        if (bits < 8 && colour == PNG_COLOR_TYPE_GRAY)
            file_.refuse(fmt::format("{}-bit gray samples are not supported", bits), "convert it to 8 bits");
        return {{png_get_image_height(png_, info_), png_get_image_width(png_, info_)},
                (colour & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1,
                bits == 16 ? DType::u16 : DType::u8,
                (colour & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png_, info_, PNG_INFO_tRNS) != 0};
    }

    [[nodiscard]] StatedSize stated_size() const {
        return {png_get_image_height(png_, info_), png_get_image_width(png_, info_), file_row_bytes_, kDeflateRatio};
    }

    void read_resolution(ImageMetadata& metadata) const {
        png_uint_32 x = 0;
        png_uint_32 y = 0;
        int unit = 0;
        if (png_get_pHYs(png_, info_, &x, &y, &unit) == 0) return;
        if (unit != PNG_RESOLUTION_METER) {
            if (x != y) metadata.not_kept.emplace_back(kAspectRatio);
            return;
        }
        metadata.x_resolution_per_m = x;
        metadata.y_resolution_per_m = y;
    }

    void read_rows(Image& image) {
        auto* first = image.as<png_byte>();
        const size_t row_bytes = image.row_bytes();
        const auto rows = static_cast<size_t>(image.extent().h);
        run([&] {
            png_read_update_info(png_, info_);
            if (png_get_rowbytes(png_, info_) != row_bytes) png_error(png_, "rows have an unexpected length");
            for (int pass = 0; pass < passes_; ++pass)
                for (size_t y = 0; y < rows; ++y) png_read_row(png_, first + y * row_bytes, nullptr);
            png_read_end(png_, nullptr);
        });
    }

  private:
    static void read_bytes(png_structp png, png_bytep to, size_t count) {
        auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
        const auto got = self->file_.try_read_at(self->offset_, {reinterpret_cast<std::byte*>(to), count});
        if (got != static_cast<int64_t>(count)) png_error(png, "the file ends early or cannot be read");
        self->offset_ += count;
    }

    /// Configures libpng to return 8 or 16 bits in the machine's byte order, palettes as RGB, and a transparent colour
    /// as alpha.
    void expand() {
        const int colour = png_get_color_type(png_, info_);
        if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
        if (png_get_valid(png_, info_, PNG_INFO_tRNS) != 0) png_set_tRNS_to_alpha(png_);
        if (std::endian::native == std::endian::little) png_set_swap(png_);
    }

    template <class Code>
    void run(const Code& code) {
        if (!guarded(png_, code)) file_.refuse_damaged(error_.text);
    }

    const RandomAccessFile& file_;
    PngError error_;
    png_structp png_ = nullptr;
    png_infop info_ = nullptr;
    uint64_t offset_ = 0;
    uint64_t file_row_bytes_ = 0;
    int passes_ = 1;
};

}  // namespace

std::unique_ptr<ImageFile> open_png(OpenedFile file) {
    PngChunks chunks = walk_png_chunks(*file);
    if (chunks.is_animated) file->refuse("it is an animation (more than one page)", "export one frame");
    PngReader reader(*file);
    const ImageInfo info = reader.read_header();
    file->require_room(reader.stated_size(), chunks.pixel_data_bytes);
    ImageMetadata metadata = std::move(chunks.metadata);
    reader.read_resolution(metadata);
    const auto decode = [](const RandomAccessFile& opened, Image& image) {
        PngReader rows(opened);
        (void)rows.read_header();
        rows.read_rows(image);
    };
    return std::make_unique<DecodedFile>(std::move(file), info, std::move(metadata), decode);
}

}  // namespace pb::image
