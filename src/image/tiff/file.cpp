#include "base/text.hpp"
#include "image/formats/formats.hpp"
#include "image/formats/interleaved.hpp"
#include "image/sample_types.hpp"
#include "image/tiff/block_cache.hpp"
#include "image/tiff/handle.hpp"
#include "image/tiff/layout.hpp"
#include "image/tiff/pages.hpp"
#include "image/tiff/tags.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace pb::image {
namespace {

/// Limit of the cache of decoded blocks. Windows read in bands across a wide image use the same blocks several times.
constexpr size_t kCacheBytes = size_t{128} << 20U;

/// Channels [first, first + count) of a pixel.
struct Channels {
    int64_t first = 0;
    int64_t count = 0;
};

/// A part of one block: its position in the image, and its samples, interleaved as in the file.
struct BlockPart {
    Rect place;
    int64_t plane = 0;
    const std::byte* samples = nullptr;
    size_t row_bytes = 0;
};

template <class Sample>
void invert_row(std::byte* row, int64_t count, Sample white) {
    auto* samples = reinterpret_cast<Sample*>(row);
    for (int64_t i = 0; i < count; ++i) samples[i] = static_cast<Sample>(white - samples[i]);
}

std::string text_of(const ImageInfo& page) {
    return fmt::format("{}x{} px (height x width) {}, {}{}", page.extent.h, page.extent.w, name_of(page.dtype),
                       counted(page.channels, "channel"), page.has_alpha ? " and alpha" : "");
}

/// What the chosen pages are of the file.
enum class Part : uint8_t { image, whole_stack, some_pages };

class TiffFile final : public ImageFile {
  public:
    explicit TiffFile(OpenedFile file, std::optional<std::span<const int64_t>> chosen = std::nullopt);
    [[nodiscard]] bool windowed() const override { return layout_.raw || bytes_of_block(0) <= kCacheBytes; }
    [[nodiscard]] bool has_lossy_colours() const override { return layout_.has_lossy_colours; }
    [[nodiscard]] int64_t num_pages() const override { return static_cast<int64_t>(pages_.size()); }
    [[nodiscard]] int64_t page_number() const override { return page_.number; }
    void turn_to(int64_t page) override;

  private:
    void take_pages(std::span<const int64_t> chosen);
    void check_equal_pages();
    void read_page(const TiffPage& page);
    void describe_some_pages();
    template <class Step>
    void naming_page(int64_t number, Step&& step) const;
    [[nodiscard]] size_t bytes_of_block(int64_t block_row) const;
    void read_channels(const Rect& part, int64_t first, MutablePixelView to) override;
    void read_blocks(const Rect& part, Channels channels, MutablePixelView to);
    [[nodiscard]] BlockPart fetch(const Rect& place, int64_t plane);
    [[nodiscard]] const std::byte* fetch_raw(const Rect& within, uint32_t block, size_t block_bytes);
    [[nodiscard]] const std::byte* decode(uint32_t block, int64_t block_row);
    void copy_part(const BlockPart& from, const Rect& part, Channels channels, MutablePixelView to) const;
    void copy_colours(const BlockPart& from, MutablePixelView to) const;
    void invert(MutablePixelView to) const;

    OpenedFile file_;
    TiffHandle tiff_;
    TiffPage page_;                // the current one
    std::vector<TiffPage> pages_;  // those that were chosen
    std::vector<std::string> passed_over_;
    Part part_ = Part::image;
    std::string stack_description_;   // of a file of which only some pages were chosen
    bool loses_description_ = false;  // as it is about all pages, and its own page may not be among those chosen
    TiffLayout layout_;
    std::vector<std::byte> scratch_;
    BlockCache cache_{kCacheBytes};
};

TiffFile::TiffFile(OpenedFile file, std::optional<std::span<const int64_t>> chosen)
    : file_(std::move(file)), tiff_(*file_) {
    if (tiff_.get() == nullptr) file_->refuse_damaged(tiff_.error());
    TiffPages found = find_tiff_pages(tiff_, *file_);
    if (!chosen && found.all.size() > 1)
        file_->refuse("it has more than one page", "denoise takes stacks; for others, split it into files of one page");
    pages_ = std::move(found.all);
    passed_over_ = std::move(found.passed_over);
    if (num_pages() == 1) read_page(pages_.front());
    if (chosen) take_pages(*chosen);
}

void TiffFile::take_pages(std::span<const int64_t> chosen) {
    if (num_pages() == 1)
        if (auto pages = find_pages_behind(tiff_.get(), layout_, chosen, *file_); !pages.empty())
            pages_ = std::move(pages);
    if (num_pages() > 1) part_ = Part::whole_stack;
    if (!chosen.empty()) {
        const auto all = std::exchange(pages_, choose_pages(pages_, chosen, *file_));
        const auto same = [](const TiffPage& a, const TiffPage& b) { return a.number == b.number; };
        if (!std::equal(all.begin(), all.end(), pages_.begin(), pages_.end(), same)) {
            read_page(all.front());
            stack_description_ = description_in(metadata_);
            loses_description_ = description_in(metadata_of_pages(metadata_)) != stack_description_;
            part_ = Part::some_pages;
        }
    }
    check_equal_pages();
}

/// Leaves the first page as the current one.
void TiffFile::check_equal_pages() {
    turn_to(0);
    const ImageInfo first = info();
    for (int64_t i = 1; i < num_pages(); ++i) {
        if (pages_[static_cast<size_t>(i)].directory == page_.directory) continue;
        turn_to(i);
        if (first != info())
            file_->refuse(fmt::format("page {} is {}, and page {} is {}", pages_.front().number, text_of(first),
                                      page_number(), text_of(info())),
                          "choose pages of one size and type: --pages");
    }
    if (num_pages() > 1) turn_to(0);
}

/// Calls step(). Its errors name the page if the file has several.
template <class Step>
void TiffFile::naming_page(int64_t number, Step&& step) const {
    try {
        step();
    } catch (const UsageError& error) {
        if (num_pages() == 1) throw;
        throw UsageError(fmt::format("page {} of {}: {}", number, file_->path().string(), error.what()));
    }
}

void TiffFile::turn_to(int64_t page) {
    require(page >= 0 && page < num_pages(), "a page that the file does not have was to be read");
    const TiffPage& next = pages_[static_cast<size_t>(page)];
    naming_page(next.number, [&] { read_page(next); });
}

void TiffFile::read_page(const TiffPage& page) {
    tiff_.clear_error();
    if (TIFFCurrentDirOffset(tiff_.get()) != page.directory && TIFFSetSubDirectory(tiff_.get(), page.directory) == 0)
        file_->refuse_damaged(tiff_.error());
    cache_ = BlockCache(kCacheBytes);
    page_ = page;
    layout_ = read_tiff_layout(tiff_.get(), *file_);
    info_ = layout_.info;
    metadata_ = read_tiff_metadata(tiff_.get(), layout_);
    metadata_.not_kept.insert(metadata_.not_kept.begin(), passed_over_.begin(), passed_over_.end());
    // Only the first page carries what describes all images of the only directory.
    if (part_ == Part::whole_stack && pages_.front().directory == pages_.back().directory) drop_truncation(metadata_);
    if (num_pages() > 1 && metadata_.tiff_tile) metadata_.not_kept.emplace_back("tiles");  // StackFile has strips
    if (page.behind > 0) std::erase_if(metadata_.tiff_tags, is_bound_to_stack);
    if (part_ == Part::image) metadata_ = metadata_of_image(std::move(metadata_));
    if (part_ == Part::some_pages) describe_some_pages();
}

void TiffFile::describe_some_pages() {
    const bool is_first = page_.number == pages_.front().number;
    if (!is_imagej_text(stack_description_) || !is_first) {
        metadata_ = metadata_of_pages(std::move(metadata_));
        if (is_first && loses_description_) name_lost("ImageDescription (only some pages are taken)", metadata_);
        return;
    }
    std::vector<int64_t> numbers(pages_.size());
    std::ranges::transform(pages_, numbers.begin(), &TiffPage::number);
    const auto [description, lost] = describe_part(stack_description_, numbers);
    set_description(metadata_, "");  // not among what is lost
    metadata_ = metadata_of_pages(std::move(metadata_));
    set_description(metadata_, description);
    if (!lost.empty())
        metadata_.not_kept.push_back(fmt::format("ImageJ's {} (only some pages are taken)", fmt::join(lost, ", ")));
}

size_t TiffFile::bytes_of_block(int64_t block_row) const {
    return static_cast<size_t>(layout_.rows_of_block(block_row) * layout_.block.w) * layout_.pixel_bytes();
}

void TiffFile::read_channels(const Rect& part, int64_t first, MutablePixelView to) {
    naming_page(page_.number, [&] {
        read_blocks(part, {first, to.channels}, to);
        if (first == 0 && layout_.white_is_zero) invert(to);
        if (must_be_finite(first)) refuse_not_finite(*file_, part, first, to);
    });
}

void TiffFile::read_blocks(const Rect& part, Channels channels, MutablePixelView to) {
    if (part.extent.pixels() == 0) return;
    const Extent block = layout_.block;
    const int64_t last_row = part.row + part.extent.h;
    const int64_t last_column = part.column + part.extent.w;
    const Channels planes = layout_.planar ? channels : Channels{0, 1};
    for (int64_t y = part.row / block.h * block.h; y < last_row; y += block.h)
        for (int64_t x = part.column / block.w * block.w; x < last_column; x += block.w)
            for (int64_t plane = planes.first; plane < planes.first + planes.count; ++plane)
                copy_part(fetch(intersection({y, x, block}, part), plane), part, channels, to);
}

BlockPart TiffFile::fetch(const Rect& place, int64_t plane) {
    const Extent block = layout_.block;
    const int64_t block_row = place.row / block.h;
    const uint32_t index = layout_.block_index(plane, block_row, place.column / block.w);
    const Rect within{place.row % block.h, place.column % block.w, place.extent};
    const size_t pixel_bytes = layout_.pixel_bytes();
    if (layout_.raw)
        return {place, plane, fetch_raw(within, index, bytes_of_block(block_row)),
                static_cast<size_t>(place.extent.w) * pixel_bytes};
    const auto first = static_cast<size_t>(within.row * block.w + within.column) * pixel_bytes;
    return {place, plane, decode(index, block_row) + first, static_cast<size_t>(block.w) * pixel_bytes};
}

const std::byte* TiffFile::fetch_raw(const Rect& within, uint32_t block, size_t block_bytes) {
    const size_t pixel_bytes = layout_.pixel_bytes();
    const size_t row_bytes = static_cast<size_t>(within.extent.w) * pixel_bytes;
    const auto rows = static_cast<size_t>(within.extent.h);
    scratch_.resize(row_bytes * rows);
    const bool whole_rows = within.extent.w == layout_.block.w;
    const size_t pieces = whole_rows ? 1 : rows;
    const uint64_t begin = TIFFGetStrileOffset(tiff_.get(), block) + page_.behind;
    if (begin == 0 || TIFFGetStrileByteCount(tiff_.get(), block) < block_bytes)
        file_->refuse_damaged(fmt::format("strip or tile {} is missing or too short", block));
    for (size_t i = 0; i < pieces; ++i) {
        const auto pixel =
            static_cast<uint64_t>((within.row + static_cast<int64_t>(i)) * layout_.block.w + within.column);
        file_->read_at(begin + pixel * pixel_bytes, {scratch_.data() + i * row_bytes, scratch_.size() / pieces});
    }
    if (layout_.byte_swapped) swap_sample_bytes(scratch_, layout_.sample_bytes());
    return scratch_.data();
}

const std::byte* TiffFile::decode(uint32_t block, int64_t block_row) {
    if (const std::byte* kept = cache_.find(block)) return kept;
    std::vector<std::byte> decoded(bytes_of_block(block_row));
    const auto expected = static_cast<tmsize_t>(decoded.size());
    tiff_.clear_error();
    const auto read_block = layout_.tiled ? TIFFReadEncodedTile : TIFFReadEncodedStrip;
    const bool failed = read_block(tiff_.get(), block, decoded.data(), expected) != expected || tiff_.has_error();
    const std::string fault = failed ? tiff_.error() : find_deflate_fault(tiff_.get(), block, decoded, *file_);
    if (!fault.empty())
        file_->refuse_damaged(fmt::format("{} {}, from row {}: {}", layout_.tiled ? "tile" : "strip", block,
                                          block_row * layout_.block.h, fault));
    return cache_.keep(block, std::move(decoded));
}

void TiffFile::copy_part(const BlockPart& from, const Rect& part, Channels channels, MutablePixelView to) const {
    const MutablePixelView out =
        to.part({from.place.row - part.row, from.place.column - part.column, from.place.extent});
    if (!layout_.palette.empty()) return copy_colours(from, out);
    const int64_t samples = layout_.planar ? 1 : layout_.samples;
    const PixelView in{from.samples, from.place.extent, samples, layout_.info.dtype, from.row_bytes};
    if (layout_.planar)
        copy_bands(in, 0, 1, out, from.plane - channels.first);
    else
        copy_bands(in, channels.first, channels.count, out, 0);
}

/// The colours of a palette.
void TiffFile::copy_colours(const BlockPart& from, MutablePixelView to) const {
    for (int64_t y = 0; y < to.extent.h; ++y) {
        const std::byte* samples = from.samples + static_cast<size_t>(y) * from.row_bytes;
        std::byte* colours = to.row(y);
        for (int64_t x = 0; x < to.extent.w; ++x)
            std::memcpy(colours + 3 * x, &layout_.palette[3 * std::to_integer<size_t>(samples[x])], 3);
    }
}

void TiffFile::invert(MutablePixelView to) const {
    for (int64_t y = 0; y < to.extent.h; ++y) {
        if (to.dtype == DType::u8) invert_row<uint8_t>(to.row(y), to.extent.w, 255);
        if (to.dtype == DType::u16) invert_row<uint16_t>(to.row(y), to.extent.w, 65535);
        if (to.dtype == DType::f32) invert_row<float>(to.row(y), to.extent.w, 1.0F);
    }
}

}  // namespace

std::unique_ptr<ImageFile> open_tiff(OpenedFile file) { return std::make_unique<TiffFile>(std::move(file)); }

std::unique_ptr<ImageFile> open_tiff_stack(OpenedFile file, std::span<const int64_t> pages) {
    return std::make_unique<TiffFile>(std::move(file), pages);
}

}  // namespace pb::image
