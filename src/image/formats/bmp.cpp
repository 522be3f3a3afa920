#include "image/formats/bmp.hpp"

#include "image/formats/formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace pb::image {
namespace {

// Places in the file; numbers are little-endian.
constexpr size_t kRowsBegin = 10, kInfoBytes = 14, kWidth = 18, kHeight = 22, kBits = 28, kCompression = 30;
constexpr size_t kResolutionX = 38, kResolutionY = 42, kColours = 46, kMasks = 54, kColourSpace = 70;
constexpr size_t kPrimaries = 74, kPrimariesAndGammaEnd = 122, kProfileBegin = 126, kProfileBytes = 130,
                 kLongestHeader = 138;

constexpr uint32_t kLinked = 0x4C494E4B;                             // 'LINK'
constexpr uint32_t kWithMasks = 52, kWithAlphaMask = 56, kV4 = 108;  // lengths of other info headers

struct BmpHeader {
    ImageInfo info;
    ImageMetadata metadata;
    uint64_t rows_begin = 0;  // byte offset of the first row in the file
    uint64_t row_bytes = 0;   // with the padding to a multiple of four
    bool top_down = false;    // rows are stored from the bottom up otherwise
    size_t pixel_bytes = 0;
    std::array<size_t, 4> places{2, 1, 0, 3};     // bytes of red, green, blue and alpha in a pixel
    std::vector<std::array<uint8_t, 3>> palette;  // empty: the pixels are samples
};

/// Throws UsageError for what is not supported (run-length codes, 1, 4 and 16 bits a pixel) and for a header that is
/// wrong or states a size that the length of the file rules out.
class HeaderReader {
  public:
    explicit HeaderReader(const RandomAccessFile& file) : file_(file) {
        (void)file.try_read_at(0, bytes_);  // a shorter file leaves zeros, which are refused
        info_bytes_ = number(kInfoBytes);
    }

    [[nodiscard]] BmpHeader read() {
        check_kind();
        BmpHeader header;
        read_extent(header);
        const uint32_t bits = number(kBits, 2);
        header.pixel_bytes = bits / 8;
        header.row_bytes = bmp_row_bytes(header.info.extent.w, header.pixel_bytes);
        header.info.channels = 3;
        if (bits == 8) read_palette(header);
        if (number(kCompression) == kBmpMasked) read_masks(header);
        check_length(header);
        read_metadata(header.metadata);
        return header;
    }

  private:
    [[nodiscard]] uint32_t number(size_t place, size_t count = 4) const {
        return static_cast<uint32_t>(number_in(std::span(bytes_).subspan(place, count)));
    }

    void check_kind() const {
        constexpr std::array kKnown{kBmpInfo, kWithMasks, kWithAlphaMask, kV4, kBmpV5};
        const bool is_known = std::ranges::find(kKnown, info_bytes_) != kKnown.end();
        if (file_.size() < kWidth || (is_known && file_.size() < kInfoBytes + info_bytes_))
            file_.refuse_damaged(fmt::format("it ends after {} bytes, within its header", file_.size()));
        if (!is_known)
            file_.refuse(fmt::format("it is no Windows bitmap: its header has {} bytes", info_bytes_),
                         "save it as PNG, TIFF or 24-bit BMP");
        const uint32_t bits = number(kBits, 2);
        if (bits != 8 && bits != 24 && bits != 32)
            file_.refuse(fmt::format("{} bits a pixel are not supported", bits), "save it with 8, 24 or 32 bits");
        const uint32_t compression = number(kCompression);
        if (compression != kBmpPlain && !(compression == kBmpMasked && bits == 32))
            file_.refuse("it is a compressed BMP", "save it uncompressed, or as PNG");
    }

    void read_extent(BmpHeader& header) const {
        const auto width = static_cast<int32_t>(number(kWidth));
        const auto height = int64_t{static_cast<int32_t>(number(kHeight))};
        if (width < 1 || height == 0)
            file_.refuse_damaged(fmt::format("its header says {}x{} px (height x width)", height, width));
        header.top_down = height < 0;
        header.info.extent = {header.top_down ? -height : height, width};
    }

    /// Entries of blue, green, red and a byte without meaning. A palette of grays makes a gray image.
    void read_palette(BmpHeader& header) const {
        constexpr uint32_t kMost = 256;
        const uint32_t stated = number(kColours);
        const uint32_t count = stated == 0 ? kMost : stated;
        if (count > kMost) file_.refuse_damaged(fmt::format("its palette has {} colours", count));
        std::vector<std::byte> entries(size_t{count} * 4);
        file_.read_at(14 + uint64_t{info_bytes_}, entries);
        for (size_t i = 0; i < count; ++i) {
            const auto* entry = reinterpret_cast<const uint8_t*>(entries.data()) + 4 * i;
            header.palette.push_back({entry[2], entry[1], entry[0]});
        }
        const auto is_gray = [](const auto& colour) { return colour[0] == colour[1] && colour[1] == colour[2]; };
        if (std::ranges::all_of(header.palette, is_gray)) header.info.channels = 1;
    }

    /// In the shortest header the masks follow it, without one for alpha.
    void read_masks(BmpHeader& header) const {
        const size_t count = info_bytes_ >= kWithAlphaMask && number(kMasks + 12) != 0 ? 4 : 3;
        for (size_t i = 0; i < count; ++i) {
            const uint32_t mask = number(kMasks + 4 * i);
            size_t place = 0;
            while (place < 4 && mask != 0xFFU << (8 * place)) ++place;
            if (place == 4 || std::find(header.places.begin(), header.places.begin() + static_cast<std::ptrdiff_t>(i),
                                        place) != header.places.begin() + static_cast<std::ptrdiff_t>(i))
                file_.refuse("its colours do not have 8 bits each", "save it with 24 bits a pixel");
            header.places[i] = place;
        }
        header.info.has_alpha = count == 4;
    }

    void check_length(BmpHeader& header) const {
        header.rows_begin = number(kRowsBegin);
        const auto rows = static_cast<uint64_t>(header.info.extent.h);
        if (header.rows_begin < 14 + uint64_t{info_bytes_} || header.rows_begin > file_.size() ||
            (file_.size() - header.rows_begin) / header.row_bytes < rows)
            file_.refuse_damaged(
                fmt::format("its header says {}x{} px (height x width) from byte {} on, the file has {} bytes", rows,
                            header.info.extent.w, header.rows_begin, file_.size()));
    }

    /// Whether the header gives primaries and gamma, as it does where the colour space is LCS_CALIBRATED_RGB.
    [[nodiscard]] bool has_primaries() const {
        constexpr uint32_t kCalibrated = 0;
        if ((info_bytes_ != kV4 && info_bytes_ != kBmpV5) || number(kColourSpace) != kCalibrated) return false;
        return std::any_of(bytes_.begin() + kPrimaries, bytes_.begin() + kPrimariesAndGammaEnd,
                           [](std::byte b) { return b != std::byte{0}; });
    }

    void read_metadata(ImageMetadata& metadata) const {
        const auto x = static_cast<int32_t>(number(kResolutionX));
        const auto y = static_cast<int32_t>(number(kResolutionY));
        if (x > 0 && y > 0) {
            metadata.x_resolution_per_m = x;
            metadata.y_resolution_per_m = y;
        }
        const uint32_t space = info_bytes_ == kBmpV5 ? number(kColourSpace) : 0;
        if (has_primaries()) metadata.not_kept.emplace_back("colour tags other than the profile");
        if (space == kLinked) metadata.not_kept.emplace_back("colour profile in another file");
        if (space != kBmpEmbedded) return;
        const uint64_t begin = 14 + uint64_t{number(kProfileBegin)};
        const uint64_t count = number(kProfileBytes);
        if (begin > file_.size() || count > file_.size() - begin)
            file_.refuse_damaged("its colour profile reaches past the end");
        metadata.icc_profile.resize(count);
        file_.read_at(begin, metadata.icc_profile);
    }

    const RandomAccessFile& file_;
    std::array<std::byte, kLongestHeader> bytes_{};
    uint32_t info_bytes_ = 0;
};

/// Reads uncompressed Windows bitmaps by windows: every row has its place in the file.
class BmpFile final : public ImageFile {
  public:
    BmpFile(OpenedFile file, BmpHeader header)
        : ImageFile(header.info, std::move(header.metadata)), file_(std::move(file)), header_(std::move(header)) {}

  private:
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override {
        row_.resize(static_cast<size_t>(part.extent.w) * header_.pixel_bytes);
        for (int64_t y = 0; y < part.extent.h; ++y) {
            const int64_t row = part.row + y;
            const int64_t stored = header_.top_down ? row : info().extent.h - 1 - row;
            file_->read_at(header_.rows_begin + static_cast<uint64_t>(stored) * header_.row_bytes +
                               static_cast<uint64_t>(part.column) * header_.pixel_bytes,
                           row_);
            auto* out = reinterpret_cast<uint8_t*>(to.row(y));
            if (header_.palette.empty())
                copy_samples(static_cast<size_t>(first), static_cast<size_t>(to.channels), out);
            else
                look_up(row, static_cast<size_t>(to.channels), out);
        }
    }

    void copy_samples(size_t first, size_t count, uint8_t* out) const {
        const auto* pixel = reinterpret_cast<const uint8_t*>(row_.data());
        for (size_t i = 0; i < row_.size(); i += header_.pixel_bytes)
            for (size_t c = first; c < first + count; ++c) *out++ = pixel[i + header_.places[c]];
    }

    void look_up(int64_t row, size_t count, uint8_t* out) const {
        for (const std::byte sample : row_) {
            const auto colour = std::to_integer<size_t>(sample);
            if (colour >= header_.palette.size())
                file_->refuse_damaged(
                    fmt::format("row {} has colour {} of a palette of {}", row, colour, header_.palette.size()));
            for (size_t c = 0; c < count; ++c) *out++ = header_.palette[colour][c];
        }
    }

    OpenedFile file_;
    BmpHeader header_;
    std::vector<std::byte> row_;
};

}  // namespace

std::unique_ptr<ImageFile> open_bmp(OpenedFile file) {
    BmpHeader header = HeaderReader(*file).read();
    return std::make_unique<BmpFile>(std::move(file), std::move(header));
}

}  // namespace pb::image
