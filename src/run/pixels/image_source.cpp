#include "run/pixels/image_source.hpp"

#include "base/text.hpp"
#include "image/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

namespace pb::run {

namespace {

Rect shifted(const Rect& part, const Rect& origin) {
    return {part.row + origin.row, part.column + origin.column, part.extent};
}

}  // namespace

ImageSource::ImageSource(const config::ImageSettings& settings)
    : ImageSource(settings, settings.path.empty() ? OpenFiles{} : open_files(settings)) {}

ImageSource::ImageSource(const config::ImageSettings& settings, const OpenFiles& opened)
    : settings_(settings), states_(opened.states) {
    if (opened.image == nullptr) {
        crop_ = {0, 0, {settings.height, settings.width}};
        channels_ = settings.channels;
        return;
    }
    file_ = std::make_unique<FileSamples>(settings, opened.image);
    crop_ = plan::crop_of(settings, file_->info().extent);
    channels_ = file_->info().channels;
    dtype_ = settings.noise_sigma > 0 || file_->map() ? DType::f32 : file_->info().dtype;
    if (opened.clean == nullptr) return;
    config::ImageSettings clean = settings_of_clean(settings);
    if (file_->map() && !settings.range.empty()) clean.range = range_setting(file_->map()->range());
    clean_ = std::make_unique<FileSamples>(clean, opened.clean);
}

ImageSource::~ImageSource() = default;

plan::SourceFacts ImageSource::facts() const {
    if (file_ == nullptr) return {crop_.extent, channels_};
    return {file_->info().extent, file_->info().channels, file_->info().dtype, windowed()};
}

bool ImageSource::windowed() const { return file_ == nullptr || file_->file().windowed(); }

bool ImageSource::has_gaps() const { return file_ != nullptr && file_->has_gaps(); }

const image::SampleMap* ImageSource::map() const { return file_ != nullptr && file_->map() ? &*file_->map() : nullptr; }

image::ImageFile* ImageSource::file() { return file_ == nullptr ? nullptr : &file_->file(); }

void ImageSource::read(const Rect& part, MutablePixelView to) {
    if (file_ == nullptr) return image::fill_scene(settings_.seed, part.row, part.column, to);
    if (to.dtype == file_->info().dtype && !file_->map()) return file_->read_stored(shifted(part, crop_), to);
    file_->read_unit(shifted(part, crop_), to);
}

void ImageSource::add_noise_to(const Rect& part, MutablePixelView samples) {
    if (settings_.noise_sigma == 0) return;
    image::add_noise(settings_.noise_sigma, settings_.seed, part.row, part.column, samples);
    restore_gaps(part, samples);
}

image::Image ImageSource::read_unit(const Rect& part) {
    image::Image image(part.extent, channels_, DType::f32);
    read(part, image.view());
    return image;
}

image::Image ImageSource::read_clean(const Rect& part) {
    if (clean_ == nullptr) return read_unit(part);
    image::Image image(part.extent, channels_, DType::f32);
    clean_->read_unit(shifted(part, crop_), image.view());
    return image;
}

image::Image ImageSource::read_noisy(const Rect& part) {
    image::Image image = read_unit(part);
    add_noise_to(part, image.view());
    return image;
}

double ImageSource::sample_step() const {
    if (file_ == nullptr || adds_noise() || is_float(file_->info().dtype)) return 0;
    return 1 / (map() == nullptr ? full_scale(file_->info().dtype) : map()->range().width());
}

image::ImageInfo ImageSource::stored_info() const {
    image::ImageInfo info{extent(), channels_, DType::u8, false};
    if (file_ == nullptr) return info;
    info.dtype = file_->info().dtype;
    info.has_alpha = file_->info().has_alpha && file_->info().extent == extent();
    info.has_channel_axis = file_->info().has_channel_axis;
    return info;
}

void ImageSource::to_stored(const Rect& part, const PixelView& samples, MutablePixelView stored) {
    if (samples.dtype == stored.dtype && map() == nullptr)
        return image::copy_bands(samples, 0, samples.channels, stored, 0);
    if (map() == nullptr) return image::from_float(samples, stored);
    map()->from_unit(samples, stored);
    if (!has_gaps()) return;
    image::Image original(part.extent, channels_, stored.dtype);
    file_->read_stored(shifted(part, crop_), original.view());
    map()->copy_gaps(original.view(), stored);
}

void ImageSource::from_stored(const Rect& part, const PixelView& stored, MutablePixelView unit) {
    if (map() == nullptr) return image::to_float(stored, unit);
    map()->to_unit(stored, unit);
    restore_gaps(part, unit);
}

image::Image ImageSource::as_stored(const Rect& part, const PixelView& samples) {
    image::Image stored(part.extent, channels_, stored_info().dtype), unit(part.extent, channels_, DType::f32);
    to_stored(part, samples, stored.view());
    from_stored(part, stored.view(), unit.view());
    return unit;
}

void ImageSource::restore_gaps(const Rect& part, MutablePixelView unit) {
    if (!has_gaps()) return;
    const image::Image marked = file_->read_marked(shifted(part, crop_));
    if (pb::image::count_gaps(marked.view()) == 0) return;
    const image::Image seen = read_unit(part);
    for (int64_t y = 0; y < part.extent.h; ++y) {
        const auto marks = image::floats_in(marked.view(), y), from = image::floats_in(seen.view(), y);
        auto* to = reinterpret_cast<float*>(unit.row(y));
        for (size_t i = 0; i < marks.size(); ++i)
            if (std::isnan(marks[i])) to[i] = from[i];
    }
}

int64_t ImageSource::count_gaps(const Rect& part) {
    return has_gaps() ? pb::image::count_gaps(file_->read_marked(shifted(part, crop_)).view()) : 0;
}

int64_t ImageSource::blank_gaps(const Rect& part, std::initializer_list<image::Image*> images) {
    std::vector<bool> is_gap(static_cast<size_t>(part.extent.pixels() * channels_));
    for (FileSamples* file : {file_.get(), clean_.get()}) {
        if (file == nullptr || !file->has_gaps()) continue;
        const image::Image marked = file->read_marked(shifted(part, crop_));
        for (size_t i = 0; i < is_gap.size(); ++i) is_gap[i] = is_gap[i] || std::isnan(marked.as<float>()[i]);
    }
    for (image::Image* image : images)
        for (size_t i = 0; i < is_gap.size(); ++i)
            if (is_gap[i]) image->as<float>()[i] = 0;
    return std::ranges::count(is_gap, true);
}

void ImageSource::require_unchanged() const {
    for (const FileState& state : states_) state.require_unchanged();
}

std::string describe_source(const std::string& path, const plan::SourceFacts& facts) {
    const std::string name = without_controls(std::filesystem::path(path).filename());
    return fmt::format("{}: {} rows, {} columns, {} channels of {}", name, facts.extent.h, facts.extent.w,
                       facts.channels, name_of(facts.dtype));
}

plan::SourceFacts source_facts(const config::ImageSettings& settings) {
    const OpenFiles opened = open_files(settings);
    const image::ImageInfo info = info_of(settings, opened);
    return {info.extent, info.channels, info.dtype, opened.image->windowed()};
}

}  // namespace pb::run
