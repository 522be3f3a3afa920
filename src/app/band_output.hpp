// Images of more bands than a network takes: denoised in groups, and put together in memory.
#pragma once

#include "image/placed_image.hpp"
#include "run/pixels/file_samples.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pb {

/// The groups of `num_bands` bands, as image.bands has them: each by itself, or three ("1-3", "4-6"); the last three
/// overlap others where the number is no multiple of three. Throws UsageError for groups of three of fewer bands.
[[nodiscard]] std::vector<std::string> band_groups(int64_t num_bands, int64_t size);

/// All channels of a file, alpha counted.
[[nodiscard]] int64_t num_bands(const ImageInfo& info);

class BandOutput {
  public:
    /// Of an image like that of the file.
    explicit BandOutput(OpenImage original);
    /// The denoised samples of `bands`, in the file's type.
    void take(const std::string& bands, const ImageView& samples);
    /// When all are there. A compression that was chosen replaces the input's. Throws Error.
    void save(const std::filesystem::path& file, const std::optional<Compression>& chosen);

  private:
    OpenImage original_;
    Image image_;  // every band, alpha last where the file has it
};

}  // namespace pb
