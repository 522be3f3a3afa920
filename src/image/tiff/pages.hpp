// The pages of a TIFF: its directories that hold an image of full size. Thumbnails, pyramid levels and masks are none.
#pragma once

#include "image/tiff/handle.hpp"
#include "image/tiff/layout.hpp"

#include <cstdint>
#include <span>
#include <string>
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
/// Throws UsageError when the file is too short, or its samples are not one piece.
[[nodiscard]] std::vector<TiffPage> find_pages_behind(TIFF* tiff, const TiffLayout& layout,
                                                      const RandomAccessFile& file);

/// Returns the pages with these numbers, in their order. Throws UsageError when one is missing.
[[nodiscard]] std::vector<TiffPage> choose_pages(const std::vector<TiffPage>& pages, std::span<const int64_t> numbers,
                                                 const RandomAccessFile& file);

}  // namespace pb::image
