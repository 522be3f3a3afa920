// Converts the samples of an image file for a network and back: selects bands, maps sample types without an agreed
// range to [0,1], and fills gaps.
#pragma once

#include "config/sample_settings.hpp"
#include "config/settings.hpp"
#include "image/image_file.hpp"
#include "image/sample_map.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace pb::run {

/// An open file, shared by sources that read different bands of it.
using OpenImage = std::shared_ptr<image::ImageFile>;

/// Opens the file of the settings: `path`, as raw samples when `raw` is set. Throws UsageError in the cases of
/// open_image.
[[nodiscard]] OpenImage open_file(const config::ImageSettings& settings);

/// A file as it was when it was opened.
struct FileState {
    std::string path;
    std::string version;  // file_version

    /// Throws Error when the file was written to since: what was read may be a mixture. One that was replaced is read
    /// as it was.
    void require_unchanged() const;
};

/// The open files of an image.
struct OpenFiles {
    OpenImage image;
    OpenImage clean;                // null: image.clean names none
    std::vector<FileState> states;  // of both

    /// Makes a page the current one of both.
    void turn_to(int64_t page) const;
    void require_unchanged() const;
};

/// The settings with which `clean` is read: those of the image, with `clean` as its path, and without the form of raw
/// samples where its name is that of a format.
[[nodiscard]] config::ImageSettings settings_of_clean(const config::ImageSettings& settings);

/// Throws UsageError where `given` has a nodata value that no sample can have, and where it has one, or a range LO:HI,
/// and an image of the current page has white as zero: its samples are inverted as they are read. A range that was
/// found is one of such samples.
void check_given_samples(const config::ImageSettings& given, const OpenFiles& files);

/// Opens `path` as open_file does, and `clean` in the same way, which must have the same extents, channels and pages.
[[nodiscard]] OpenFiles open_files(const config::ImageSettings& settings);
/// As open_files, but accepts stacks: their pages with the numbers `pages`, or all when there are none (open_stack).
[[nodiscard]] OpenFiles open_pages(const config::ImageSettings& settings, std::span<const int64_t> pages);

class FileSamples {
  public:
    /// `file` is the one that the settings name. Reads a sample of it when image.range is auto. Throws UsageError for
    /// bands that the file does not have, and for a type without an agreed range when no range is given.
    FileSamples(const config::ImageSettings& settings, OpenImage file);

    [[nodiscard]] image::ImageFile& file() { return *file_; }
    /// The info of the file, with the selected bands as channels. Selected bands have no alpha.
    [[nodiscard]] const image::ImageInfo& info() const { return info_; }
    /// The map from samples to [0,1]. None: integers are divided by full scale, f32 is unchanged, and there are no
    /// gaps.
    [[nodiscard]] const std::optional<image::SampleMap>& map() const { return map_; }
    [[nodiscard]] bool has_gaps() const { return map_ && map_->has_gaps(); }

    /// Reads `part` as stored in the file, in the type of info().
    void read_stored(const Rect& part, MutablePixelView to);
    /// Reads `part` as f32 in [0,1], with gaps filled.
    void read_unit(const Rect& part, MutablePixelView to);
    /// Reads `part` as f32 in [0,1], with gaps as NaN.
    [[nodiscard]] image::Image read_marked(const Rect& part);

    /// Returns samples spread over the image, as stored in the file. `marks` identifies the gaps, which are left out.
    [[nodiscard]] std::vector<double> spread_values(const image::SampleMap& marks);

  private:
    void read_bands(const Rect& part, MutablePixelView to);
    [[nodiscard]] std::optional<image::SampleMap> make_map(const config::ImageSettings& settings);
    [[nodiscard]] image::SampleRange find_range(const image::SampleMap& marks);

    OpenImage file_;
    std::optional<config::BandChoice> bands_;
    image::ImageInfo info_;
    image::Image decoded_;  // the whole file after the first read, if the format has no windows
    std::optional<image::SampleMap> map_;
};

/// Returns the range of nearly all samples of all pages (range_of_values), of the bands that the settings select.
/// Another page is the current one afterwards. Throws UsageError when there is no range.
[[nodiscard]] image::SampleRange range_of_pages(const config::ImageSettings& settings, const OpenImage& file);

/// Formats a range as the setting image.range does.
[[nodiscard]] std::string range_setting(const image::SampleRange& range);

/// Returns the info of the file with the bands that the settings select. Reads no samples.
[[nodiscard]] image::ImageInfo info_of(const config::ImageSettings& settings, const OpenFiles& opened);

}  // namespace pb::run
