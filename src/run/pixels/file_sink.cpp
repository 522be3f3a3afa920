#include "run/pixels/file_sink.hpp"

#include "run/agreement.hpp"

#include <algorithm>

namespace pb::run {

image::ImageMetadata metadata_to_save(ImageSource& source, const std::optional<image::Compression>& chosen) {
    if (source.file() == nullptr) return {};
    image::ImageMetadata metadata = source.file()->metadata();
    if (source.file()->info().extent != source.extent()) metadata = image::metadata_of_part(std::move(metadata));
    if (chosen) metadata.tiff_compression = image::ImageMetadata{}.tiff_compression;
    return metadata;
}

FileSink::FileSink(const Team& team, ImageSource& source, const OutputPlan& plan)
    : StreamedSink(source.extent(), source.channels(), source.dtype()),
      source_(source),
      info_(source.stored_info()),
      metadata_(metadata_to_save(source, plan.compression)) {
    together(team.ranks, [&] {
        if (team.is_root())
            placed_.emplace(info_, &metadata_, plan.file, plan.compression.value_or(image::Compression::none));
    });
    part_ = team.ranks.broadcast(placed_ ? placed_->temporary_name().string() : "");
    name_ = team.ranks.broadcast(plan.file.string());
    together(team.ranks, [&] { writer_.emplace(part_, info_, name_); });
}

Quantisation FileSink::quantisation() const {
    const image::SampleMap* map = source_.map();
    if (map == nullptr) return CoreSink::quantisation();
    constexpr double kArithmetic = 1e-6;
    return {map->rounding() + kArithmetic, map->limits()};
}

image::Image FileSink::as_stored(const Rect& part, const image::Image& samples) const {
    image::Image stored(samples.extent(), channels(), info_.dtype), back(samples.extent(), channels(), DType::f32);
    source_.to_stored(part, samples.view(), stored.view());
    source_.from_stored(part, stored.view(), back.view());
    return back;
}

void FileSink::store(const Rect& core, const PixelView& samples, StreamCounts& /*counts*/) {
    PixelView pixels = samples;
    if (samples.dtype != info_.dtype || source_.map() != nullptr) {
        if (converted_.extent() != core.extent) converted_ = image::Image(core.extent, channels(), info_.dtype);
        source_.to_stored(core, samples, converted_.view());
        pixels = converted_.view();
    }
    image::Image alpha;
    if (info_.has_alpha) alpha = source_.file()->read_alpha(core);
    writer_->write(core.row, core.column, pixels, alpha.view());
}

/// Uses the same readers as for any image, so that the check sees what a user will read.
image::Image FileSink::read(const Rect& part) {
    if (!written_) {
        written_ = image::open_placed(part_, info_, name_);
        if (source_.map() != nullptr) written_->keep_not_finite();
    }
    image::Image image(part.extent, channels(), DType::f32), stored(part.extent, channels(), info_.dtype);
    written_->read(part, stored.view());
    source_.from_stored(part, stored.view(), image.view());
    return image;
}

void FileSink::publish() {
    if (placed_) placed_->commit();
}

}  // namespace pb::run
