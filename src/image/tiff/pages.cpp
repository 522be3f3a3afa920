#include "image/tiff/pages.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <sstream>
#include <utility>

namespace pb::image {
namespace {

uint32_t kind_of(TIFF* tiff) {
    uint32_t kind = 0;
    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    return kind;
}

/// Returns the number of directories below the current one: there OME-TIFF stores the pyramid levels.
uint16_t count_below(TIFF* tiff) {
    uint16_t count = 0;
    const uint64_t* ignored = nullptr;
    TIFFGetField(tiff, TIFFTAG_SUBIFD, &count, &ignored);
    return count;
}

/// The lines of ImageJ's description after the first one, in their order.
using Entries = std::vector<std::pair<std::string, std::string>>;

Entries entries_of(std::string_view description) {
    Entries entries;
    std::istringstream lines{std::string(description)};
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line))
        if (const size_t equals = line.find('='); equals != std::string::npos)
            entries.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    return entries;
}

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
    return std::ranges::find(keys, key) != keys.end();
}

int64_t count_in(std::string_view digits) {
    int64_t count = 1;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

/// Those along which the stack has more than one image.
std::vector<std::string> axes_of(const Entries& entries) {
    std::vector<std::string> axes;
    for (const auto& [key, value] : entries)
        if (is_one_of(key, {"channels", "slices", "frames"}) && count_in(value) > 1) axes.push_back(key);
    return axes;
}

bool follow_each_other(std::span<const int64_t> pages) { return pages.back() - pages.front() + 1 == std::ssize(pages); }

/// The number of images that ImageJ's description states, or 1.
int64_t images_in_imagej_text(std::string_view description) {
    if (!is_imagej_text(description)) return 1;
    const Entries entries = entries_of(description);
    const auto images = std::ranges::find(entries, "images", &Entries::value_type::first);
    return images == entries.end() ? 1 : count_in(images->second);
}

/// Returns the number of pages of `page_values` samples in a description by tifffile such as "{"truncated": true,
/// "shape": [40, 70, 60]}", or 1.
int64_t images_in_shape(std::string_view description, int64_t page_values) {
    constexpr std::string_view kKey = "\"shape\": [";
    const size_t begin = description.find(kKey);
    const bool is_truncated = description.find("\"truncated\": true") != std::string_view::npos;
    if (!description.starts_with('{') || !is_truncated || begin == std::string_view::npos) return 1;
    const char* at = description.data() + begin + kKey.size();
    const char* const end = description.data() + description.size();
    double values = 1;
    for (int64_t edge = 0; at < end; at += 2) {  // numbers are separated by ", "
        const auto [next, failure] = std::from_chars(at, end, edge);
        if (failure != std::errc()) break;
        values *= static_cast<double>(edge);
        at = next;
    }
    constexpr double kMost = 1e15;
    return values >= 1 && values <= kMost ? std::max<int64_t>(1, static_cast<int64_t>(values) / page_values) : 1;
}

/// Returns the number in `name="40"` of an XML element, or 1.
int64_t attribute_of(std::string_view element, std::string_view name) {
    const size_t begin = element.find(fmt::format(" {}=\"", name));
    int64_t value = 1;
    if (begin == std::string_view::npos) return value;
    const std::string_view digits = element.substr(begin + name.size() + 3);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

/// Returns the number of planes with `samples` channels in OME-XML, or 1. It is 1 as well if there are several images,
/// or if planes lie in other files.
int64_t images_in_ome(std::string_view description, int64_t samples) {
    constexpr std::string_view kPixels = "<Pixels ";
    const size_t begin = description.find(kPixels);
    const bool is_ome = description.find("<OME") < begin && begin != std::string_view::npos;
    if (!is_ome || description.find(kPixels, begin + 1) != std::string_view::npos) return 1;
    if (description.find(" FileName=") != std::string_view::npos) return 1;
    const std::string_view element = description.substr(begin, description.find('>', begin) - begin);
    constexpr int64_t kMost = 1 << 20;  // of libtiff
    int64_t count = 1;
    for (const char* const size : {"SizeZ", "SizeC", "SizeT"})
        count *= std::clamp<int64_t>(attribute_of(element, size), 1, kMost);
    return count % samples == 0 ? std::min(count / samples, kMost) : 1;
}

/// True when the samples are uncompressed and contiguous in the file.
bool is_one_piece(TIFF* tiff, const TiffLayout& layout) {
    if (!layout.raw || layout.tiled || layout.planar) return false;
    const uint64_t begin = TIFFGetStrileOffset(tiff, 0);
    for (int64_t row = 0; row < layout.blocks.h; ++row)
        if (TIFFGetStrileOffset(tiff, static_cast<uint32_t>(row)) !=
            begin + static_cast<uint64_t>(row * layout.block.pixels()) * layout.pixel_bytes())
            return false;
    return true;
}

/// Returns `count` pages whose samples follow those of the current directory.
std::vector<TiffPage> pages_behind(TIFF* tiff, int64_t count, uint64_t page_bytes) {
    std::vector<TiffPage> pages;
    pages.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i)
        pages.push_back({i, TIFFCurrentDirOffset(tiff), static_cast<uint64_t>(i) * page_bytes});
    return pages;
}

/// The planes that OME-XML describes. None if their samples cannot be there: programs that take one page out of a file
/// copy the description of all.
std::vector<TiffPage> find_planes_behind(TIFF* tiff, const TiffLayout& layout, const char* description,
                                         const RandomAccessFile& file) {
    const auto count = static_cast<uint64_t>(images_in_ome(description, layout.samples));
    if (count <= 1 || !is_one_piece(tiff, layout) || count_below(tiff) > 0) return {};
    const uint64_t begin = TIFFGetStrileOffset(tiff, 0), directory = TIFFCurrentDirOffset(tiff);
    const auto page_bytes = static_cast<uint64_t>(layout.info.extent.pixels()) * layout.pixel_bytes();
    const bool fits = begin <= file.size() && count <= (file.size() - begin) / page_bytes;
    // tifffile writes the directory before the samples. After them, something else may follow.
    return fits && directory < begin ? pages_behind(tiff, static_cast<int64_t>(count), page_bytes)
                                     : std::vector<TiffPage>{};
}

/// The directories of a file in their order. Each one states the offset of the next.
class DirectoryChain {
  public:
    explicit DirectoryChain(const RandomAccessFile& file) : file_(file) {}
    [[nodiscard]] int64_t num_read() const { return static_cast<int64_t>(numbers_.size()); }

    /// Adds the current directory. Refuses a file in which an earlier one follows it: libtiff does not say why it stops
    /// there.
    void add(TIFF* tiff) {
        const int64_t number = num_read();
        numbers_.emplace(TIFFCurrentDirOffset(tiff), number);
        if (const auto earlier = numbers_.find(next_after(tiff)); earlier != numbers_.end())
            file_.refuse(fmt::format("its directories form a cycle: the one after number {} is number {} again", number,
                                     earlier->second),
                         "export it again, or copy the pages that are wanted into a new file");
    }

  private:
    /// Returns 0 beyond the end of the file: a file that is cut there has no further directory.
    [[nodiscard]] uint64_t number_at(uint64_t offset, size_t num_bytes, bool big_endian) const {
        std::array<std::byte, sizeof(uint64_t)> bytes{};
        if (file_.try_read_at(offset, std::span(bytes).first(num_bytes)) < static_cast<int64_t>(num_bytes)) return 0;
        return number_in(std::span(bytes).first(num_bytes), big_endian);
    }
    [[nodiscard]] uint64_t next_after(TIFF* tiff) const {
        const bool big_endian = TIFFIsBigEndian(tiff) != 0;
        const DirectoryFormat format = directory_format(tiff);
        const uint64_t begin = TIFFCurrentDirOffset(tiff);
        const uint64_t entries = number_at(begin, format.count, big_endian);
        return number_at(begin + format.count + entries * format.entry, format.number, big_endian);
    }

    const RandomAccessFile& file_;
    std::map<uint64_t, int64_t> numbers_;  // by offset
};

}  // namespace

TiffPages find_tiff_pages(TiffHandle& handle, const RandomAccessFile& file) {
    TIFF* tiff = handle.get();
    const TiffPage first{0, TIFFCurrentDirOffset(tiff)};
    TiffPages pages;
    const int64_t num_below = count_below(tiff);
    int64_t num_levels = num_below, num_masks = 0;
    DirectoryChain chain(file);
    do {
        if (chain.num_read() > 0 && TIFFReadDirectory(tiff) == 0) file.refuse_damaged(handle.error());
        chain.add(tiff);
        const uint32_t kind = kind_of(tiff);
        if ((kind & (FILETYPE_REDUCEDIMAGE | FILETYPE_MASK)) == 0)
            pages.all.push_back({static_cast<int64_t>(pages.all.size()), TIFFCurrentDirOffset(tiff)});
        else
            ++((kind & FILETYPE_MASK) != 0 ? num_masks : num_levels);
    } while (TIFFLastDirectory(tiff) == 0);
    if (pages.all.empty() && num_below > 0)
        file.refuse("it holds a preview, and the image in a directory below it, as camera raw (DNG, NEF) does",
                    "develop it, and save it as TIFF");
    if (pages.all.empty()) {
        pages.all.push_back(first);
        --(num_levels > 0 ? num_levels : num_masks);
    }
    if (num_levels > 0) pages.passed_over.push_back("pyramid of " + counted(num_levels, "level"));
    if (num_masks > 0) pages.passed_over.emplace_back("transparency mask");
    return pages;
}

std::vector<TiffPage> find_pages_behind(TIFF* tiff, const TiffLayout& layout, std::span<const int64_t> numbers,
                                        const RandomAccessFile& file) {
    const char* description = nullptr;
    if (TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &description) != 1) return {};
    const int64_t count = std::max(images_in_imagej_text(description),
                                   images_in_shape(description, layout.info.extent.pixels() * layout.samples));
    if (count <= 1) return find_planes_behind(tiff, layout, description, file);
    const int64_t needed = numbers.empty() ? count : std::min(count, std::ranges::max(numbers) + 1);
    const uint64_t begin = TIFFGetStrileOffset(tiff, 0);
    const auto page_bytes = static_cast<uint64_t>(layout.info.extent.pixels()) * layout.pixel_bytes();
    if (needed > 1 && !is_one_piece(tiff, layout))
        file.refuse(fmt::format("it describes {} images and has one directory, of samples in several pieces", count),
                    "take the first one, --pages 0, or save it again with a directory for each image");
    if (needed > 1 && (begin > file.size() || static_cast<uint64_t>(needed) > (file.size() - begin) / page_bytes))
        file.refuse_damaged(
            fmt::format("it describes {} images, which {} bytes cannot hold; if it is one page that was copied out of "
                        "a stack, take --pages 0",
                        count, file.size()));
    return pages_behind(tiff, std::min(count, needed + 1), page_bytes);  // one more: they count as a part of the stack
}

std::vector<TiffPage> choose_pages(const std::vector<TiffPage>& pages, std::span<const int64_t> numbers,
                                   const RandomAccessFile& file) {
    std::vector<TiffPage> chosen;
    const auto count = static_cast<int64_t>(pages.size());
    for (const int64_t number : numbers) {
        if (number < 0 || number >= count)
            file.refuse(fmt::format("there is no page {}, the pages are 0 to {}", number, count - 1),
                        "choose others: --pages");
        chosen.push_back(pages[static_cast<size_t>(number)]);
    }
    return chosen;
}

PartOfStack describe_part(std::string_view description, std::span<const int64_t> pages) {
    const Entries entries = entries_of(description);
    const auto axes = axes_of(entries);
    const bool is_hyperstack = axes.size() > 1;
    PartOfStack part{.description = fmt::format("{}\n", description.substr(0, description.find('\n')))};
    if (pages.size() > 1) part.description += fmt::format("images={}\n", pages.size());
    if (pages.size() > 1 && axes.size() == 1) part.description += fmt::format("{}={}\n", axes.front(), pages.size());
    if (is_hyperstack) part.lost = axes;
    for (const auto& [key, value] : entries) {
        if (is_one_of(key, {"images", "channels", "slices", "frames", "hyperstack"})) continue;
        const bool is_step = is_one_of(key, {"spacing", "finterval", "fps"});
        if ((is_step && (is_hyperstack || !follow_each_other(pages))) || (is_hyperstack && key == "mode"))
            part.lost.push_back(key);
        else
            part.description += fmt::format("{}={}\n", key, value);
    }
    return part;
}

}  // namespace pb::image
