// The image of a point, read by rectangles from a file or a synthetic scene: cropped, clean or with the study's noise.
// Each rank has its own source. The result for a rectangle does not depend on how the image is divided.
#pragma once

#include "plan/plan.hpp"
#include "run/pixels/file_samples.hpp"

#include <initializer_list>
#include <memory>
#include <string>

namespace pb::run {

class ImageSource {
  public:
    /// Opens the file, if there is one. Reads only its headers, except with image.range auto. Throws UsageError in the
    /// cases of FileSamples, and for a crop beyond the image.
    explicit ImageSource(const config::ImageSettings& settings);
    /// As above, with files that are already open (file_samples.hpp). Null: there is no file.
    ImageSource(const config::ImageSettings& settings, const OpenFiles& opened);
    ~ImageSource();

    /// The facts that a plan needs about the whole image, before cropping.
    [[nodiscard]] plan::SourceFacts facts() const;
    [[nodiscard]] Extent extent() const { return crop_.extent; }
    [[nodiscard]] int64_t channels() const { return channels_; }
    /// Type of the samples that are passed on: the file's type, or f32 when noise is added, the scene is synthetic or
    /// the file's samples are mapped to [0,1].
    [[nodiscard]] DType dtype() const { return dtype_; }
    /// True when each rank should read its own part; false when one rank of a node should decode for all.
    [[nodiscard]] bool windowed() const;
    [[nodiscard]] bool clean_is_known() const {
        return settings_.path.empty() || settings_.noise_sigma > 0 || clean_ != nullptr;
    }

    [[nodiscard]] bool adds_noise() const { return settings_.noise_sigma > 0; }

    /// Reads `part` (in cropped coordinates) without noise, in dtype(). Gaps are filled.
    void read(const Rect& part, MutablePixelView to);
    /// Adds the study's noise to `samples` (f32), which hold `part`, except to gaps. Does nothing when noise_sigma is
    /// 0.
    void add_noise_to(const Rect& part, MutablePixelView samples);
    /// Returns `part` with noise, f32 in [0,1]: the input of verification and probes.
    [[nodiscard]] image::Image read_noisy(const Rect& part);
    /// Returns `part` without the study's noise, f32.
    [[nodiscard]] image::Image read_unit(const Rect& part);
    /// Returns `part` as it would be without any noise, f32: of image.clean, or read_unit().
    [[nodiscard]] image::Image read_clean(const Rect& part);

    /// The properties of an output file: the file's sample type (u8 for a scene), and alpha unless the image is
    /// cropped.
    [[nodiscard]] image::ImageInfo stored_info() const;
    /// Converts `samples` of `part`, in dtype(), to those of an output file. Gaps are copied from the input, bit for
    /// bit.
    void to_stored(const Rect& part, const PixelView& samples, MutablePixelView stored);
    /// Converts samples of an output file back to f32 in [0,1].
    void from_stored(const Rect& part, const PixelView& stored, MutablePixelView unit);
    /// Returns f32 `samples` of `part` as they would be read from an output file.
    [[nodiscard]] image::Image as_stored(const Rect& part, const PixelView& samples);
    /// Replaces the network's output at the gaps of `part` by the network's input there. An output file contains
    /// neither of them.
    void restore_gaps(const Rect& part, MutablePixelView unit);
    /// Counts the gaps in `part`.
    [[nodiscard]] int64_t count_gaps(const Rect& part);
    /// Sets the samples of `part` (f32) to 0 in `images` where the image or its clean form has a gap. Counts them.
    int64_t blank_gaps(const Rect& part, std::initializer_list<image::Image*> images);
    /// Distance between neighbouring values of integer samples, in [0,1] units; 0 for floats, a scene and added noise.
    [[nodiscard]] double sample_step() const;
    /// The map from samples to [0,1]; null: integers are divided by full scale.
    [[nodiscard]] const image::SampleMap* map() const;

    [[nodiscard]] image::ImageFile* file();  // null for a scene
    /// The version of the file when it was opened (file_version); empty for a scene.
    [[nodiscard]] std::string version() const { return states_.empty() ? "" : states_.front().version; }
    /// As FileState's, of the file and that of the clean image.
    void require_unchanged() const;

  private:
    [[nodiscard]] bool has_gaps() const;

    config::ImageSettings settings_;
    std::vector<FileState> states_;
    std::unique_ptr<FileSamples> file_, clean_;
    Rect crop_;  // in coordinates of the file
    int64_t channels_ = 0;
    DType dtype_ = DType::f32;
};

/// Describes an image by the name of its file, without the folder, its extent, channels and type. Ranks compare it.
[[nodiscard]] std::string describe_source(const std::string& path, const plan::SourceFacts& facts);

/// Returns ImageSource::facts() of an image file without reading its samples.
[[nodiscard]] plan::SourceFacts source_facts(const config::ImageSettings& settings);

}  // namespace pb::run
