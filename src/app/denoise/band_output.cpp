#include "app/denoise/band_output.hpp"

#include "config/sample_settings.hpp"
#include "run/weights_source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::app {

namespace {

/// Returns 3 if there are weights for colour images, otherwise 1.
int64_t channels_of_weights(const config::PointSettings& settings) {
    if (settings.network.card) return settings.network.card->channels;
    try {
        return run::find_weights(settings, 3).channels();
    } catch (const UsageError&) {
        return run::find_weights(settings, 1).channels();
    }
}

/// Returns the groups of `num_bands` bands in the form of image.bands: single bands, or groups of three ("1-3", "4-6").
/// The last group of three overlaps the one before if the number is not a multiple of three. Throws UsageError for
/// groups of three when there are fewer than three bands.
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

}  // namespace

std::vector<std::string> find_band_groups(const image::ImageInfo& info, const std::string& bands,
                                          const config::PointSettings& settings) {
    if (bands != "auto") return band_groups(info.stored_channels(), bands == "1" ? 1 : 3);
    if (info.channels == 1 || info.channels == 3) return {};
    return band_groups(info.channels, channels_of_weights(settings));
}

BandOutput::BandOutput(run::OpenImage original)
    : original_(std::move(original)),
      image_(original_->info().extent, original_->info().stored_channels(), original_->info().dtype) {}

void BandOutput::take(const std::string& bands, const PixelView& samples) {
    image::copy_bands(samples, 0, samples.channels, image_.view(), config::parse_bands(bands).value().first);
}

void BandOutput::give(const std::function<void(const image::ImageToSave&)>& save) const {
    const image::ImageInfo& info = original_->info();
    const image::ImageMetadata& metadata = original_->metadata();
    if (!info.has_alpha) return save({image_.view(), {}, &metadata, info.has_channel_axis});
    image::Image colour(info.extent, info.channels, info.dtype), alpha(info.extent, 1, info.dtype);
    image::copy_bands(image_.view(), 0, info.channels, colour.view(), 0);
    image::copy_bands(image_.view(), info.channels, 1, alpha.view(), 0);
    save({colour.view(), alpha.view(), &metadata});
}

void BandOutput::save(const std::filesystem::path& file, const std::optional<image::Compression>& chosen) const {
    give([&](image::ImageToSave image) {
        image::ImageMetadata metadata = *image.metadata;
        if (chosen) metadata.tiff_compression = image::ImageMetadata{}.tiff_compression;
        image.metadata = &metadata;
        image::save_image(image, file, chosen.value_or(image::Compression::none));
    });
}

}  // namespace pb::app
