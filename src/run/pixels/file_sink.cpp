#include "image/placed_image.hpp"
#include "run/agreement.hpp"
#include "run/pixels/output.hpp"

namespace pb::run {

namespace {

class FileSink final : public StreamedSink {
  public:
    FileSink(const Team& team, ImageSource& source, const OutputPlan& plan)
        : StreamedSink(source), info_(source.stored_info()), metadata_(metadata_to_save(source, plan.compression)) {
        together(team.ranks, [&] {
            if (team.is_root())
                placed_.emplace(info_, &metadata_, plan.file, plan.compression.value_or(image::Compression::none));
        });
        part_ = team.ranks.broadcast(placed_ ? placed_->temporary_name().string() : "");
        name_ = team.ranks.broadcast(plan.file.string());
        together(team.ranks, [&] { writer_.emplace(part_, info_, name_); });
    }

    [[nodiscard]] DType dtype() const override { return info_.dtype; }

    [[nodiscard]] Quantisation quantisation() const override {
        const image::SampleMap* map = source().map();
        if (map == nullptr) return CoreSink::quantisation();
        constexpr double kArithmetic = 1e-6;
        return {map->rounding() + kArithmetic, map->limits(), is_float(info_.dtype), map};
    }

    /// Uses the same readers as for any image, so that the check sees what a user will read.
    [[nodiscard]] image::Image read(const Rect& part) override {
        if (!written_) {
            written_ = image::open_placed(part_, info_, name_);
            if (source().map() != nullptr) written_->keep_not_finite();
        }
        image::Image image(part.extent, channels(), DType::f32), stored(part.extent, channels(), info_.dtype);
        written_->read(part, stored.view());
        source().from_stored(part, stored.view(), image.view());
        return image;
    }

    [[nodiscard]] image::Image as_stored(const Rect& part, const image::Image& samples) const override {
        image::Image stored(samples.extent(), channels(), info_.dtype), back(samples.extent(), channels(), DType::f32);
        source().to_stored(part, samples.view(), stored.view());
        source().from_stored(part, stored.view(), back.view());
        return back;
    }

    void flush() override { writer_->flush(); }

    void publish() override {
        if (placed_) placed_->commit();
    }

  protected:
    void store(const Rect& core, const PixelView& samples, StreamCounts& /*counts*/) override {
        PixelView pixels = samples;
        if (samples.dtype != info_.dtype || source().map() != nullptr) {
            if (converted_.extent() != core.extent) converted_ = image::Image(core.extent, channels(), info_.dtype);
            source().to_stored(core, samples, converted_.view());
            pixels = converted_.view();
        }
        image::Image alpha;
        if (info_.has_alpha) alpha = source().file()->read_alpha(core);
        writer_->write(core.row, core.column, pixels, alpha.view());
    }

  private:
    image::ImageInfo info_;
    image::ImageMetadata metadata_;
    std::filesystem::path part_, name_;         // name while it is written, and final name
    std::optional<image::PlacedImage> placed_;  // only on the root
    std::optional<image::PixelWriter> writer_;
    std::unique_ptr<image::ImageFile> written_;  // open for reading after the first read()
    image::Image converted_;
};

}  // namespace

std::unique_ptr<StreamedSink> make_file_sink(const Team& team, ImageSource& source, const OutputPlan& plan) {
    return std::make_unique<FileSink>(team, source, plan);
}

}  // namespace pb::run
