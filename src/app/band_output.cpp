#include "app/band_output.hpp"

#include "config/sample_settings.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb {

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

int64_t num_bands(const ImageInfo& info) { return info.channels + (info.has_alpha ? 1 : 0); }

BandOutput::BandOutput(OpenImage original)
    : original_(std::move(original)),
      image_(original_->info().extent, num_bands(original_->info()), original_->info().dtype) {}

void BandOutput::take(const std::string& bands, const ImageView& samples) {
    copy_bands(samples, 0, samples.channels, image_.view(), parse_bands(bands).value().first);
}

void BandOutput::save(const std::filesystem::path& file, const std::optional<Compression>& chosen) {
    const ImageInfo& info = original_->info();
    ImageMetadata metadata = original_->metadata();
    if (chosen) metadata.tiff_compression = ImageMetadata{}.tiff_compression;
    const Compression compression = chosen.value_or(Compression::none);
    if (!info.has_alpha) return save_image({image_.view(), {}, &metadata}, file, compression);
    Image colour(info.extent, info.channels, info.dtype), alpha(info.extent, 1, info.dtype);
    copy_bands(image_.view(), 0, info.channels, colour.view(), 0);
    copy_bands(image_.view(), info.channels, 1, alpha.view(), 0);
    save_image({colour.view(), alpha.view(), &metadata}, file, compression);
}

}  // namespace pb
