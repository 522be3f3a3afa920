// Collects images with more bands than a network takes. They are denoised in groups of bands and joined in memory.
#pragma once

#include "image/placed_image.hpp"
#include "run/pixels/file_samples.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::app {

/// Returns the groups of bands of an image that are denoised one after the other, for the option --bands; empty when a
/// network takes the image as it is. Without a number, the weights of `settings` decide.
[[nodiscard]] std::vector<std::string> find_band_groups(const image::ImageInfo& info, const std::string& bands,
                                                        const config::PointSettings& settings);

class BandOutput {
  public:
    /// Makes an image like that of the file.
    explicit BandOutput(run::OpenImage original);
    /// Adds the denoised samples of `bands`, in the file's type.
    void take(const std::string& bands, const PixelView& samples);
    /// Writes the file; call it when all bands were added. `chosen` replaces the input's compression. Throws Error.
    void save(const std::filesystem::path& file, const std::optional<image::Compression>& chosen) const;
    /// Calls `save` with the image; call it when all bands were added.
    void give(const std::function<void(const image::ImageToSave&)>& save) const;

  private:
    run::OpenImage original_;
    image::Image image_;  // every band; alpha last if the file has it
};

}  // namespace pb::app
