// The image of a point by rectangles: from a file or a synthetic scene, cropped, clean or with the study's noise. Each
// rank has its own; what it returns for a rectangle does not depend on how the image is cut.
#pragma once

#include "config/settings.hpp"
#include "image/image_file.hpp"
#include "image/sample_map.hpp"
#include "plan/plan.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pb {

class FileSamples;
using OpenImage = std::shared_ptr<ImageFile>;

class ImageSource {
  public:
    /// Opens the file (headers only, but for image.range auto) when there is one. Throws UsageError as FileSamples, and
    /// for a crop beyond the image.
    explicit ImageSource(const ImageSettings& settings);
    /// As that, with the file open already (file_samples.hpp); null: there is none.
    ImageSource(const ImageSettings& settings, OpenImage opened);
    ~ImageSource();

    /// What a plan must know of the image: all of it, before any crop.
    [[nodiscard]] SourceFacts facts() const;
    [[nodiscard]] Extent extent() const { return crop_.extent; }
    [[nodiscard]] int64_t channels() const { return channels_; }
    /// Type in which samples travel: the file's own, or f32 where noise is added, the scene is synthetic or the file's
    /// samples are mapped to [0,1].
    [[nodiscard]] DType dtype() const { return dtype_; }
    /// True when each rank should read its own part; false when one rank of a node should decode for all.
    [[nodiscard]] bool windowed() const;
    [[nodiscard]] bool clean_is_known() const { return settings_.path.empty() || settings_.noise_sigma > 0; }

    /// `part` (in cropped coordinates) of the image as the network is to see it, before noise, in dtype(). Samples that
    /// are no data (gaps) are filled.
    void read(const Rect& part, MutableImageView to);
    /// Adds the study's noise to `part`, which is in `samples` (f32), but not to gaps; does nothing when noise_sigma is
    /// 0.
    void add_noise_to(const Rect& part, MutableImageView samples);
    /// `part` with noise, f32 in [0,1]: what verification and probing start from.
    [[nodiscard]] Image read_noisy(const Rect& part);
    /// `part` without noise, f32.
    [[nodiscard]] Image read_clean(const Rect& part);

    /// What an output file holds: samples of the file's type (u8 for a scene) and alpha where it is not cropped.
    [[nodiscard]] ImageInfo stored_info() const;
    /// `samples` of `part`, in dtype(), as such a file holds them; gaps are those of the input, bit for bit.
    void to_stored(const Rect& part, const ImageView& samples, MutableImageView stored);
    /// And as they are seen from there: f32 in [0,1].
    void from_stored(const Rect& part, const ImageView& stored, MutableImageView unit);
    /// Puts what the network saw at the gaps of `part` in place of what it made of them: nobody else will see either.
    void restore_gaps(const Rect& part, MutableImageView unit);
    /// Samples of `part` that are gaps.
    [[nodiscard]] int64_t count_gaps(const Rect& part);
    /// How samples become numbers in [0,1]; none: by full scale.
    [[nodiscard]] const SampleMap* map() const;

    [[nodiscard]] ImageFile* file();  // null for a scene

  private:
    [[nodiscard]] bool has_gaps() const;

    ImageSettings settings_;
    std::unique_ptr<FileSamples> file_;
    Rect crop_;  // in file coordinates
    int64_t channels_ = 0;
    DType dtype_ = DType::f32;
};

/// ImageSource::facts() of an image file, without reading its samples.
[[nodiscard]] SourceFacts source_facts(const ImageSettings& settings);

}  // namespace pb
