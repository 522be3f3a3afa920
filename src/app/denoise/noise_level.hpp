// The noise level that `denoise` tells the network: read from --sigma, or estimated from the central part of the file.
#pragma once

#include "config/settings.hpp"
#include "image/noise_level.hpp"
#include "image/sample_map.hpp"
#include "run/pixels/image_source.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace pb::app {

/// A noise level as given: a share of the range of the samples, or a value in their units.
struct NoiseLevel {
    double value = 0;
    bool in_units = false;
};

/// Reads the option --sigma of `denoise`. Accepts "0.1" and "25/255". With a range, plain numbers are in the units of
/// the samples and quotients are a share of the range; without one, both are in [0,1]. Throws UsageError that names the
/// option.
[[nodiscard]] NoiseLevel parse_sigma(const std::string& text, bool has_range);

/// Returns `level` in [0,1] units. Throws UsageError when it is outside the limits of the networks.
[[nodiscard]] double sigma_of(const NoiseLevel& level, const image::SampleRange& range);

/// Returns "range -300:4700, sigma 100 in its units (0.02 of it)"; `range` may be null.
[[nodiscard]] std::string sigma_text(double sigma, const image::SampleRange* range);
/// The range that was given, or found (run::range_setting); nothing: that of the type.
[[nodiscard]] std::optional<image::SampleRange> fixed_range(const config::ImageSettings& image);
/// Returns "range -300:4700".
[[nodiscard]] std::string range_text(const image::SampleRange& range);

/// How the samples in the centre of a file, at most 2048 pixels a side, lie in the range of their type.
struct RangeFit {
    /// `beyond`: floats lie so far outside [0,1] that noise cannot explain it. `low`: integers use at most a quarter of
    /// full scale, as those of cameras with 14 bits or fewer do. `tiny`: of the range that was given they use less than
    /// a thousandth.
    enum class Kind : uint8_t { good, beyond, low, tiny };
    Kind kind = Kind::good;
    image::SampleRange samples{};  // the lowest and the highest one, as the file has them

    /// Then no noise level can be estimated, and a PSNR would be that of clipped samples.
    [[nodiscard]] bool is_beyond() const { return kind == Kind::beyond; }
    /// Says what is wrong, and the way out; empty: nothing.
    [[nodiscard]] std::string note() const;
};

/// For a range that the user gave the kind is `good` or `tiny`, and for one that is found automatically `good`.
[[nodiscard]] RangeFit fit_range(const config::ImageSettings& image, run::ImageSource& source);

/// Whether an image has the 2 x 2 pixels that noise can be found in.
[[nodiscard]] bool has_room_for_noise(Extent image);

/// Returns the noise in the same part of a file. Throws UsageError with the file's name when it cannot be estimated,
/// for example when the samples do not fit their range.
[[nodiscard]] image::NoiseEstimate estimate_sigma(const config::ImageSettings& image, run::ImageSource& source,
                                                  const RangeFit& fit);

/// Says why the noise was taken for more than that of the finest detail, or of one colour, or is told to the network as
/// more than it is; empty where nothing of that is so.
[[nodiscard]] std::string noise_note(const config::ImageSettings& image, const image::NoiseEstimate& noise,
                                     const RangeFit& fit);

/// Says that the noise in the same part of a file seems to be far from `sigma`, in [0,1]; otherwise, and where it
/// cannot be estimated, empty. With a range both are in the samples' units.
[[nodiscard]] std::string level_note(const config::ImageSettings& image, run::ImageSource& source, double sigma);

}  // namespace pb::app
