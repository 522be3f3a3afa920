// A TIFF of several pages, written one page after the other. Uncompressed pixels of all pages are contiguous, as ImageJ
// and tifffile store them: these readers take some stacks for one block of pixels.
#pragma once

#include "base/atomic_file.hpp"
#include "image/image_file.hpp"
#include "image/placed_image.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

namespace pb::image {

class TiffHandle;

/// Throws UsageError when a stack of images like `info` cannot be written under this name: it is for .tif and .tiff.
void check_can_save_stack(const ImageInfo& info, const std::filesystem::path& file);

/// Throws UsageError unless files of this name hold several pages.
void check_can_hold_pages(const std::filesystem::path& file);

class StackFile {
  public:
    /// Makes an empty stack for as many pages as `original` has (open_stack), in its byte order. `chosen` replaces the
    /// compression of the pages; none: each keeps its own where that is lossless. Throws as check_can_save_stack does.
    StackFile(const ImageFile& original, const std::filesystem::path& file, std::optional<Compression> chosen);
    ~StackFile();  // without commit(): removes the file
    StackFile(const StackFile&) = delete;
    StackFile& operator=(const StackFile&) = delete;

    /// Appends a page, as strips, with its metadata. Throws Error.
    void add(const ImageToSave& page);
    /// The file appears under its name. All pages must have been added. Throws Error.
    void commit();

  private:
    void write_page(const ImageToSave& page);

    AtomicFile file_;
    std::optional<Compression> chosen_;
    int64_t num_missing_;  // pages
    std::unique_ptr<TiffHandle> tiff_;
    uint64_t pixels_end_ = 0, directories_begin_ = 0;  // equal: there is no room for contiguous pixels
};

}  // namespace pb::image
