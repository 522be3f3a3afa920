// The output of a point as a file that all ranks write during the pass.
#pragma once

#include "image/placed_image.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/output.hpp"
#include "run/point/team.hpp"

#include <filesystem>
#include <memory>
#include <optional>

namespace pb::run {

/// The metadata that save_output and a FileSink write: that of the source's file, empty for a scene. A compression in
/// `chosen` replaces the file's.
[[nodiscard]] image::ImageMetadata metadata_to_save(ImageSource& source,
                                                    const std::optional<image::Compression>& chosen);

class FileSink final : public StreamedSink {
  public:
    /// Collective over the team: the root creates the file under a temporary name and the other ranks open it. Only the
    /// root's `plan` names the file. Fails on all ranks together (see `together`). Nothing appears under the final name
    /// before publish(), and nothing remains without it. `source` must outlive this object.
    FileSink(const Team& team, ImageSource& source, const OutputPlan& plan);

    [[nodiscard]] DType dtype() const override { return info_.dtype; }
    [[nodiscard]] Quantisation quantisation() const override;
    [[nodiscard]] image::Image read(const Rect& part) override;
    [[nodiscard]] image::Image as_stored(const Rect& part, const image::Image& samples) const override;
    void flush() override { writer_->flush(); }
    void publish() override;

  protected:
    void store(const Rect& core, const PixelView& samples, StreamCounts& counts) override;

  private:
    ImageSource& source_;
    image::ImageInfo info_;
    image::ImageMetadata metadata_;
    std::filesystem::path part_, name_;         // name while it is written, and final name
    std::optional<image::PlacedImage> placed_;  // only on the root
    std::optional<image::PixelWriter> writer_;
    std::unique_ptr<image::ImageFile> written_;  // open for reading after the first read()
    image::Image converted_;
};

}  // namespace pb::run
