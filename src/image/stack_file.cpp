#include "image/stack_file.hpp"

#include "image/formats.hpp"
#include "image/tiff_handle.hpp"
#include "image/tiff_write.hpp"

#include "patchbench/base/error.hpp"

namespace pb::image {
namespace {

/// An upper limit of the bytes of all pages. LZW makes noise up to half longer.
uint64_t bytes_of_pages(const ImageFile& original) {
    const ImageInfo& info = original.info();
    const auto channels = static_cast<uint64_t>(info.channels + (info.has_alpha ? 1 : 0));
    const uint64_t page_bytes = static_cast<uint64_t>(info.extent.pixels()) * channels * size_of(info.dtype);
    return static_cast<uint64_t>(original.num_pages()) * (page_bytes + page_bytes / 2);
}

uint64_t bytes_of_tags(const ImageFile& original) {
    constexpr uint64_t kDirectoryBytes = 4096;
    uint64_t bytes = kDirectoryBytes + original.metadata().icc_profile.size();
    for (const TiffTag& tag : original.metadata().tiff_tags) bytes += tag.values.size();
    return bytes * static_cast<uint64_t>(original.num_pages());
}

const std::filesystem::path& checked(const ImageFile& original, const std::filesystem::path& file) {
    check_can_save_stack(original.info(), file);
    return file;
}

}  // namespace

void check_can_save_stack(const ImageInfo& info, const std::filesystem::path& file) {
    check_can_save(info, file);
    const std::string extension = extension_of(file);
    if (extension != ".tif" && extension != ".tiff")
        throw UsageError("cannot write " + file.string() +
                         ": it would hold one image, and a stack has several pages; use .tif, or choose one page: "
                         "--pages");
}

StackFile::StackFile(const ImageFile& original, const std::filesystem::path& file, std::optional<Compression> chosen)
    : file_(checked(original, file)), chosen_(chosen), num_missing_(original.num_pages()) {
    const ByteOrder order = original.metadata().tiff_big_endian ? ByteOrder::big : ByteOrder::of_machine;
    const bool big_tiff = needs_big_tiff(bytes_of_pages(original), bytes_of_tags(original));
    tiff_ = std::make_unique<TiffHandle>(file_, big_tiff, order);
}

StackFile::~StackFile() = default;

void StackFile::add(const ImageToSave& page) {
    require(page.metadata != nullptr && num_missing_ > 0, "a page was to be added to a complete stack");
    ImageMetadata metadata = *page.metadata;
    if (chosen_) metadata.tiff_compression = tag_of(*chosen_);
    write_tiff_page(*tiff_, {page.pixels, page.alpha, &metadata});
    if (TIFFWriteDirectory(tiff_->get()) != 1 || tiff_->has_error()) tiff_->fail_writing();
    --num_missing_;
}

void StackFile::commit() {
    require(num_missing_ == 0, "a stack was to be completed before all its pages were added");
    tiff_.reset();
    file_.commit();
}

}  // namespace pb::image
