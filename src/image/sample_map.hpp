// The map between the samples of a file and the numbers of a network: which sample value is 0, which is 1, and which
// samples are missing data (gaps). The same map is used from the file to the network and back.
#pragma once

#include "image/image.hpp"

#include <optional>
#include <span>
#include <vector>

namespace pb::image {

/// The sample values that correspond to 0 and 1; low < high.
struct SampleRange {
    double low = 0;
    double high = 1;
    [[nodiscard]] double width() const { return high - low; }
    friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

/// The range is full scale for u8 and u16, and [0,1] for floats. i16 and u32 have no range, because there is no
/// convention.
[[nodiscard]] std::optional<SampleRange> range_of_type(DType type);

/// Returns the range of nearly all `values`: from the 0.1 % to the 99.9 % percentile. Sorts `values`. Throws UsageError
/// when all are equal or there are none.
[[nodiscard]] SampleRange range_of_values(std::span<double> values);

class SampleMap {
  public:
    /// A map for samples of `type`. With `has_gaps`, samples that are not finite or equal `nodata` are missing data. A
    /// `nodata` that the type cannot hold matches no sample.
    SampleMap(DType type, SampleRange range, bool has_gaps = false, std::optional<double> nodata = {});

    [[nodiscard]] const SampleRange& range() const { return range_; }
    [[nodiscard]] bool has_gaps() const { return has_gaps_; }
    [[nodiscard]] const std::optional<double>& nodata() const { return nodata_; }

    /// Converts samples to f32: the low end of the range becomes 0, the high end 1, and gaps become NaN. Throws
    /// UsageError for a sample that is further away than a million ranges.
    void to_unit(const PixelView& samples, MutablePixelView unit) const;
    /// Converts f32 back to samples. Integers are rounded to nearest (ties to even), and all values are clipped to what
    /// the type can hold. NaN becomes 0 in integers. A value that would become `nodata` gets the neighbouring sample
    /// value instead.
    void from_unit(const PixelView& unit, MutablePixelView samples) const;
    /// Appends the samples that are not gaps to `values`, as the type holds them.
    void append_data(const PixelView& samples, std::vector<double>& values) const;
    /// Copies the samples of `original` that are gaps to the same positions in `samples`, bit for bit.
    void copy_gaps(const PixelView& original, MutablePixelView samples) const;

    /// The largest change by from_unit of a value within the range that does not become `nodata`, in units of the
    /// range.
    [[nodiscard]] double rounding() const;
    /// What from_unit may change `value` by in addition to rounding(), in units of the range: floats beyond the range
    /// have a wider spacing there, and where `nodata` would be stored a neighbour is. 0 elsewhere.
    [[nodiscard]] double added_rounding(double value) const;
    /// The smallest and largest value of the type, in units of the range.
    [[nodiscard]] SampleRange limits() const;

  private:
    /// Half of the distance of samples at `sample`, or in the range, whichever is more.
    [[nodiscard]] double half_step(double sample) const;

    DType type_;
    SampleRange range_;
    bool has_gaps_;
    std::optional<double> nodata_;  // as the type holds it
};

/// Distance in pixels that the surroundings of a part must extend beyond it for fill_gaps.
inline constexpr int64_t kGapReach = 3;

/// Returns `part` as f32 with its NaN samples replaced by a value that is harmless to a network: the mean of the
/// nearest valid samples of the channel within kGapReach pixels, or 0.5 if there are none. `around` is the image at
/// `place`: `part` and kGapReach pixels on each side, as far as the image extends. The result does not depend on how
/// the image is divided into parts.
[[nodiscard]] Image fill_gaps(const PixelView& around, const Rect& place, const Rect& part);

/// Counts the NaN samples of an f32 image.
[[nodiscard]] int64_t count_gaps(const PixelView& image);

}  // namespace pb::image
