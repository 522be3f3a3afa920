#include "image/stack_file.hpp"

#include "image/formats/formats.hpp"
#include "image/tiff/handle.hpp"
#include "image/tiff/write.hpp"

#include "patchbench/base/error.hpp"

namespace pb::image {
namespace {

uint64_t bytes_of_pages(const ImageFile& original) {
    const ImageInfo& info = original.info();
    const uint64_t page_bytes = static_cast<uint64_t>(info.extent.pixels()) * info.stored_pixel_bytes();
    return static_cast<uint64_t>(original.num_pages()) * page_bytes;
}

uint64_t bytes_of_tags(const ImageFile& original) {
    constexpr uint64_t kDirectoryBytes = 4096;
    return (kDirectoryBytes + metadata_bytes(&original.metadata())) * static_cast<uint64_t>(original.num_pages());
}

const std::filesystem::path& checked(const ImageFile& original, const std::filesystem::path& file) {
    check_can_save_stack(original.info(), file);
    return file;
}

}  // namespace

void check_can_save_stack(const ImageInfo& info, const std::filesystem::path& file) {
    check_can_save(info, file);
    check_can_hold_pages(file);
}

void check_can_hold_pages(const std::filesystem::path& file) {
    if (!is_tiff(file))
        throw UsageError("cannot write " + file.string() +
                         ": it would hold one image, and a stack has several pages; use .tif, or choose one page: "
                         "--pages");
}

StackFile::StackFile(const ImageFile& original, const std::filesystem::path& file, std::optional<Compression> chosen)
    : file_(checked(original, file)), chosen_(chosen), num_missing_(original.num_pages()) {
    const ByteOrder order = original.metadata().tiff_big_endian ? ByteOrder::big : ByteOrder::of_machine;
    const uint64_t bytes = bytes_of_pages(original);
    tiff_ = std::make_unique<TiffHandle>(file_, needs_big_tiff(bytes, bytes_of_tags(original), true), order);
    const bool is_compressed = (chosen ? tag_of(*chosen) : same_compression(&original.metadata())) != COMPRESSION_NONE;
    pixels_end_ = tiff_->end();
    directories_begin_ = pixels_end_ + (is_compressed ? 0 : bytes);
    tiff_->move_end(directories_begin_);
}

StackFile::~StackFile() = default;

void StackFile::add(const ImageToSave& page) {
    require(page.metadata != nullptr && num_missing_ > 0, "a page was to be added to a complete stack");
    ImageMetadata metadata = *page.metadata;
    if (chosen_) metadata.tiff_compression = tag_of(*chosen_);
    write_page({page.pixels, page.alpha, &metadata});
    if (TIFFWriteDirectory(tiff_->get()) != 1 || tiff_->has_error()) tiff_->fail_writing();
    --num_missing_;
}

void StackFile::write_page(const ImageToSave& page) {
    const bool has_place = pixels_end_ < directories_begin_ && same_compression(page.metadata) == COMPRESSION_NONE;
    const uint64_t directories_end = tiff_->end();
    if (has_place) tiff_->move_end(pixels_end_);
    write_tiff_page(*tiff_, page);
    if (!has_place) return;
    pixels_end_ = tiff_->end();
    tiff_->move_end(directories_end);
}

void StackFile::commit() {
    require(num_missing_ == 0, "a stack was to be completed before all its pages were added");
    tiff_.reset();
    file_.commit();
}

}  // namespace pb::image
