#include "patchbench/run/image_source.hpp"

#include "patchbench/config/raw_shape.hpp"
#include "patchbench/image/synthetic.hpp"

namespace pb {

namespace {

Rect shifted(const Rect& part, const Rect& origin) {
    return {part.row + origin.row, part.column + origin.column, part.extent};
}

MutableImageView rows_at(MutableImageView view, int64_t first_row, int64_t count) {
    view.pixels = view.row(first_row);
    view.extent.h = count;
    return view;
}

/// `part` of a decoded image as a view.
ImageView part_of(const Image& image, const Rect& part) {
    ImageView view = image.view();
    view.pixels = view.row(part.row) + static_cast<size_t>(part.column) * view.pixel_bytes();
    view.extent = part.extent;
    return view;
}

void copy_rows(const ImageView& from, MutableImageView to) {
    const size_t row_bytes = static_cast<size_t>(from.extent.w) * from.pixel_bytes();
    for (int64_t y = 0; y < from.extent.h; ++y) std::copy_n(from.row(y), row_bytes, to.row(y));
}

std::unique_ptr<ImageFile> open_file(const ImageSettings& settings) {
    if (settings.raw.empty()) return open_image(settings.path);
    const RawShape shape = parse_raw_shape(settings.raw);
    const bool alpha = shape.channels % 2 == 0;
    return open_raw_image(settings.path, {shape.extent, shape.channels - (alpha ? 1 : 0), shape.dtype, alpha});
}

}  // namespace

ImageSource::ImageSource(const ImageSettings& settings) : settings_(settings) {
    if (settings.path.empty()) {
        crop_ = {0, 0, {settings.height, settings.width}};
        channels_ = settings.channels;
        return;
    }
    file_ = open_file(settings);
    crop_ = crop_of(settings, file_->info().extent);
    channels_ = file_->info().channels;
    dtype_ = settings.noise_sigma > 0 ? DType::f32 : file_->info().dtype;
}

bool ImageSource::windowed() const { return file_ == nullptr || file_->windowed(); }

void ImageSource::read_file(const Rect& part, MutableImageView to) {
    if (file_->windowed()) return file_->read(part, to);
    if (decoded_.empty()) {
        const ImageInfo& info = file_->info();
        Image whole(info.extent, info.channels, info.dtype);
        file_->read({0, 0, info.extent}, whole.view());
        decoded_ = std::move(whole);
    }
    copy_rows(part_of(decoded_, part), to);
}

void ImageSource::read(const Rect& part, MutableImageView to) {
    if (file_ == nullptr) return fill_scene(settings_.seed, part.row, part.column, to);
    if (to.dtype == file_->info().dtype) return read_file(shifted(part, crop_), to);
    // Conversion to float goes through bands, so that a large part needs little extra memory.
    constexpr int64_t kBand = 64;
    Image band({std::min(kBand, part.extent.h), part.extent.w}, channels_, file_->info().dtype);
    for (int64_t y = 0; y < part.extent.h; y += kBand) {
        const int64_t count = std::min(kBand, part.extent.h - y);
        const auto rows = rows_at(band.view(), 0, count);
        read_file(shifted({part.row + y, part.column, {count, part.extent.w}}, crop_), rows);
        to_float(rows, rows_at(to, y, count));
    }
}

void ImageSource::add_noise_to(const Rect& part, MutableImageView samples) const {
    if (settings_.noise_sigma > 0) add_noise(settings_.noise_sigma, settings_.seed, part.row, part.column, samples);
}

Image ImageSource::read_clean(const Rect& part) {
    Image image(part.extent, channels_, DType::f32);
    read(part, image.view());
    return image;
}

Image ImageSource::read_noisy(const Rect& part) {
    Image image = read_clean(part);
    add_noise_to(part, image.view());
    return image;
}

SourceFacts source_facts(const ImageSettings& settings) {
    const auto file = open_file(settings);
    return {file->info().extent, file->info().channels};
}

}  // namespace pb
