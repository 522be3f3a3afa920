// The pages of a TIFF: its directories that hold an image of full size. Thumbnails, pyramid levels and masks are none.
#pragma once

#include "image/tiff/handle.hpp"
#include "image/tiff/layout.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb::image {

struct TiffPage {
    int64_t number = 0;      // in the file, from 0
    uint64_t directory = 0;  // byte offset
    uint64_t behind = 0;     // number of bytes by which its samples lie behind those of the directory
};

struct TiffPages {
    std::vector<TiffPage> all;
    std::vector<std::string> passed_over;  // what is no page, in words: "pyramid of 3 levels"
};

/// Reads every directory. A file without an image of full size has its first directory as the only page. The current
/// directory is another one afterwards. Throws UsageError when a directory is damaged.
[[nodiscard]] TiffPages find_tiff_pages(TiffHandle& tiff, const RandomAccessFile& file);

/// ImageJ writes stacks beyond 4 GiB with one directory, and tifffile can, as OME-TIFF, too: the samples of the other
/// images follow those of the first.
/// Returns the pages of such a file, whose only directory is the current one and has `layout`; otherwise nothing.
/// Only those with `numbers` must be there, all when there are none: programs that copy one page out of a stack keep
/// the description of all. Throws UsageError when the file is too short for them, or its samples are not one piece.
[[nodiscard]] std::vector<TiffPage> find_pages_behind(TIFF* tiff, const TiffLayout& layout,
                                                      std::span<const int64_t> numbers, const RandomAccessFile& file);

/// Returns the pages with these numbers, in their order. Throws UsageError when one is missing.
[[nodiscard]] std::vector<TiffPage> choose_pages(const std::vector<TiffPage>& pages, std::span<const int64_t> numbers,
                                                 const RandomAccessFile& file);

// ImageJ's description of a stack, in the tag ImageDescription of its first page: "ImageJ=1.54f", then lines
// "key=value" (images, channels, slices, frames, unit, spacing, finterval, min, max, ..).

[[nodiscard]] inline bool is_imagej_text(std::string_view description) { return description.starts_with("ImageJ="); }

struct PartOfStack {
    std::string description;
    std::vector<std::string> lost;  // keys of the lines that do not hold for it
};

/// The description of the pages with these numbers (from 0, ascending) of the stack that `description` is of. A stack
/// along one axis stays one. Its spacing, or time between frames, is kept where the pages follow each other.
[[nodiscard]] PartOfStack describe_part(std::string_view description, std::span<const int64_t> pages);

}  // namespace pb::image
