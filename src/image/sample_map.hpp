// What the samples of a file mean: the value that is 0 to a network and the one that is 1, and the samples that are no
// data (gaps). The same map leads from the file to the network and back.
#pragma once

#include "image/image.hpp"

#include <optional>
#include <span>
#include <vector>

namespace pb {

/// Sample values that stand for 0 and 1; low < high.
struct SampleRange {
    double low = 0;
    double high = 1;
    [[nodiscard]] double width() const { return high - low; }
    friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// Full scale of u8 and u16, [0,1] of floats; none of i16 and u32, of which nothing is agreed.
[[nodiscard]] std::optional<SampleRange> range_of_type(DType type);

/// Nearly all of `values`: from their 0.1 % to their 99.9 % percentile. Throws UsageError where they are all equal or
/// none is there. Sorts them.
[[nodiscard]] SampleRange range_of_values(std::span<double> values);

class SampleMap {
  public:
    /// Of samples of `type`. `has_gaps`: samples that are not finite, or equal to `nodata`, are no data; a `nodata`
    /// that the type cannot hold is no sample's.
    SampleMap(DType type, SampleRange range, bool has_gaps = false, std::optional<double> nodata = {});

    [[nodiscard]] const SampleRange& range() const { return range_; }
    [[nodiscard]] bool has_gaps() const { return has_gaps_; }
    [[nodiscard]] const std::optional<double>& nodata() const { return nodata_; }

    /// Samples to f32, 0 at the range's low end and 1 at its high one; gaps become NaN.
    /// Throws UsageError for a sample that lies further away than a million ranges.
    void to_unit(const PixelView& samples, MutablePixelView unit) const;
    /// The way back, f32 to samples: integers rounded to nearest (ties to even), all clipped to what the type holds;
    /// NaN becomes 0 in integers. No sample becomes `nodata`: it gets the value next to it.
    void from_unit(const PixelView& unit, MutablePixelView samples) const;
    /// Appends the samples that are data, as the type holds them.
    void append_data(const PixelView& samples, std::vector<double>& values) const;
    /// Samples of `original` that are gaps, to the same places of `samples`, bit for bit.
    void copy_gaps(const PixelView& original, MutablePixelView samples) const;

    /// By how much the way back changes a value at most, in units of the range.
    [[nodiscard]] double rounding() const;
    /// What the type can hold, in units of the range.
    [[nodiscard]] SampleRange limits() const;

  private:
    DType type_;
    SampleRange range_;
    bool has_gaps_;
    std::optional<double> nodata_;  // as the type holds it
};

/// How far beyond a part its surroundings must reach for fill_gaps.
inline constexpr int64_t kGapReach = 3;

/// Fills the NaN of `part` with something harmless to a network: the mean of the nearest samples of the channel that
/// are data, at most kGapReach pixels away, else 0.5. `around` is the part of the image at `place`: `part` and, as far
/// as the image reaches, kGapReach pixels on each side. Result: `part`, f32. The same whatever the parts are.
[[nodiscard]] Image fill_gaps(const PixelView& around, const Rect& place, const Rect& part);

/// Samples of f32 `image` that are NaN.
[[nodiscard]] int64_t count_gaps(const PixelView& image);

}  // namespace pb
