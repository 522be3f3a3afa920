// The image of a point by rectangles: from a file or a synthetic scene, cropped, clean or with the study's noise. Each
// rank has its own; what it returns for a rectangle does not depend on how the image is cut.
#pragma once

#include "patchbench/config/settings.hpp"
#include "patchbench/image/image_file.hpp"
#include "patchbench/plan/plan.hpp"

#include <memory>
#include <string>

namespace pb {

class ImageSource {
  public:
    /// Opens the file (headers only) when there is one. Throws UsageError as `open_image`, and for a crop beyond the
    /// image.
    explicit ImageSource(const ImageSettings& settings);

    [[nodiscard]] Extent extent() const { return crop_.extent; }
    [[nodiscard]] int64_t channels() const { return channels_; }
    /// Type in which samples travel: the file's own, or f32 where noise is added or the scene is synthetic.
    [[nodiscard]] DType dtype() const { return dtype_; }
    /// True when each rank should read its own part; false when one rank of a node should decode for all.
    [[nodiscard]] bool windowed() const;
    [[nodiscard]] bool clean_is_known() const { return settings_.path.empty() || settings_.noise_sigma > 0; }

    /// `part` (in cropped coordinates) of the image as the network is to see it, before noise, in dtype().
    void read(const Rect& part, MutableImageView to);
    /// Adds the study's noise to `part`, which is in `samples` (f32); does nothing when noise_sigma is 0.
    void add_noise_to(const Rect& part, MutableImageView samples) const;
    /// `part` with noise, f32 in [0,1]: what verification and probing start from.
    [[nodiscard]] Image read_noisy(const Rect& part);
    /// `part` without noise, f32.
    [[nodiscard]] Image read_clean(const Rect& part);

    [[nodiscard]] ImageFile* file() { return file_.get(); }  // null for a scene

  private:
    void read_file(const Rect& part, MutableImageView to);

    ImageSettings settings_;
    std::unique_ptr<ImageFile> file_;
    Image decoded_;  // the whole file, once something of it was read, where the format has no windows
    Rect crop_;      // in file coordinates
    int64_t channels_ = 0;
    DType dtype_ = DType::f32;
};

/// What a plan must know of an image file: all of it, before any crop.
[[nodiscard]] SourceFacts source_facts(const ImageSettings& settings);

}  // namespace pb
