#include "app/band_output.hpp"

#include "config/sample_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::app {

std::vector<std::string> band_groups(int64_t num_bands, int64_t size) {
    if (num_bands < size)
        throw UsageError(fmt::format(
            "--bands {}: the image has {} bands; choose --bands 1, with weights for gray images", size, num_bands));
    std::vector<std::string> groups;
    for (int64_t begin = 0; begin < num_bands; begin += size) {
        const int64_t first = std::min(begin, num_bands - size) + 1;
        groups.push_back(size == 1 ? std::to_string(first) : fmt::format("{}-{}", first, first + size - 1));
    }
    return groups;
}

int64_t num_bands(const image::ImageInfo& info) { return info.channels + (info.has_alpha ? 1 : 0); }

BandOutput::BandOutput(run::OpenImage original)
    : original_(std::move(original)),
      image_(original_->info().extent, num_bands(original_->info()), original_->info().dtype) {}

void BandOutput::take(const std::string& bands, const PixelView& samples) {
    image::copy_bands(samples, 0, samples.channels, image_.view(), config::parse_bands(bands).value().first);
}

void BandOutput::save(const std::filesystem::path& file, const std::optional<image::Compression>& chosen) {
    const image::ImageInfo& info = original_->info();
    image::ImageMetadata metadata = original_->metadata();
    if (chosen) metadata.tiff_compression = image::ImageMetadata{}.tiff_compression;
    const image::Compression compression = chosen.value_or(image::Compression::none);
    if (!info.has_alpha) return image::save_image({image_.view(), {}, &metadata}, file, compression);
    image::Image colour(info.extent, info.channels, info.dtype), alpha(info.extent, 1, info.dtype);
    image::copy_bands(image_.view(), 0, info.channels, colour.view(), 0);
    image::copy_bands(image_.view(), info.channels, 1, alpha.view(), 0);
    image::save_image({colour.view(), alpha.view(), &metadata}, file, compression);
}

}  // namespace pb::app
