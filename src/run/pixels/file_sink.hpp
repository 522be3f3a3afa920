// The output of a point as a file that all ranks write while they work.
#pragma once

#include "image/placed_image.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/output_plan.hpp"
#include "run/point/team.hpp"

#include <filesystem>
#include <memory>
#include <optional>

namespace pb {

/// What save_output and a FileSink write of the file's metadata; none for a scene. A compression that was chosen
/// replaces the file's.
[[nodiscard]] ImageMetadata metadata_to_save(ImageSource& source, const std::optional<Compression>& chosen);

class FileSink final : public StreamedSink {
  public:
    /// Collective over the team: the root makes the file under a temporary name, the others open it. The file of `plan`
    /// is the root's. Fails on all ranks alike (as `together`). Until publish() nothing appears under the name, and
    /// nothing stays when there is none. `source` must outlive it.
    FileSink(const Team& team, ImageSource& source, const OutputPlan& plan);

    [[nodiscard]] DType dtype() const override { return info_.dtype; }
    [[nodiscard]] Quantisation quantisation() const override;
    [[nodiscard]] Image read(const Rect& part) override;
    [[nodiscard]] Image as_stored(const Rect& part, const Image& samples) const override;
    void flush() override { writer_->flush(); }
    void publish() override;

  protected:
    void store(const Rect& core, const PixelView& samples, StreamCounts& counts) override;

  private:
    ImageSource& source_;
    ImageInfo info_;
    ImageMetadata metadata_;
    std::filesystem::path part_, name_;  // while it is written, and when it is complete
    std::optional<PlacedImage> placed_;  // on the root
    std::optional<PixelWriter> writer_;
    std::unique_ptr<ImageFile> written_;  // open for reading, once something of it was read
    Image converted_;
};

}  // namespace pb
