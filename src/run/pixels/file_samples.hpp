// Samples of an image file as a network takes them: the chosen bands, in [0,1] where their type does not say so by
// itself, what is no data filled; and the way back into a file of the same type.
#pragma once

#include "config/sample_settings.hpp"
#include "config/settings.hpp"
#include "image/image_file.hpp"
#include "image/sample_map.hpp"

#include <memory>
#include <optional>

namespace pb {

/// A file that sources of several bands may read one after the other: it is opened once.
using OpenImage = std::shared_ptr<ImageFile>;

/// The file of the settings: `path`, and `raw` where it is one of raw samples. Throws UsageError as open_image.
[[nodiscard]] OpenImage open_file(const ImageSettings& settings);

class FileSamples {
  public:
    /// `file` is that of the settings. Reads some of it where image.range is auto. Throws UsageError for bands that the
    /// file has not, and for samples of a type of which no range is agreed where none is given.
    FileSamples(const ImageSettings& settings, OpenImage file);

    [[nodiscard]] ImageFile& file() { return *file_; }
    /// The file's, with the chosen bands for channels; no alpha then.
    [[nodiscard]] const ImageInfo& info() const { return info_; }
    /// How samples become numbers in [0,1]. None: integers by full scale, f32 as they are; nothing is a gap.
    [[nodiscard]] const std::optional<SampleMap>& map() const { return map_; }
    [[nodiscard]] bool has_gaps() const { return map_ && map_->has_gaps(); }

    /// `part` as the file holds it, in the type of info().
    void read_stored(const Rect& part, MutableImageView to);
    /// `part` as f32 in [0,1], gaps filled.
    void read_unit(const Rect& part, MutableImageView to);
    /// `part` as f32 in [0,1], gaps NaN.
    [[nodiscard]] Image read_marked(const Rect& part);

  private:
    void read_bands(const Rect& part, MutableImageView to);
    [[nodiscard]] std::optional<SampleMap> make_map(const ImageSettings& settings);
    [[nodiscard]] SampleRange find_range(const SampleMap& marks);

    OpenImage file_;
    std::optional<BandChoice> bands_;
    ImageInfo info_;
    Image decoded_;  // the whole file, once something of it was read, where the format has no windows
    std::optional<SampleMap> map_;
};

/// What the file says of itself, with the bands that the settings choose; none of its samples is read.
[[nodiscard]] ImageInfo info_of(const ImageSettings& settings);

}  // namespace pb
