#include "run/file_output.hpp"

#include "patchbench/run/agreement.hpp"

#include <algorithm>

namespace pb {

ImageInfo info_to_save(ImageSource& source) {
    ImageInfo info{source.extent(), source.channels(), DType::u8, false};
    if (source.file() == nullptr) return info;
    const ImageInfo& original = source.file()->info();
    info.dtype = original.dtype;
    info.has_alpha = original.has_alpha && original.extent == source.extent();
    info.has_channel_axis = original.has_channel_axis;
    return info;
}

ImageMetadata metadata_to_save(ImageSource& source, const std::optional<Compression>& chosen) {
    if (source.file() == nullptr) return {};
    ImageMetadata metadata = source.file()->metadata();
    if (source.file()->info().extent != source.extent()) metadata = metadata_of_part(std::move(metadata));
    if (chosen) metadata.tiff_compression = ImageMetadata{}.tiff_compression;
    return metadata;
}

FileOutput::FileOutput(const Team& team, ImageSource& source, const OutputPlan& plan)
    : StreamedOutput(source.extent(), source.channels(), source.dtype()),
      source_(source),
      info_(info_to_save(source)),
      metadata_(metadata_to_save(source, plan.compression)) {
    together(team.ranks, [&] {
        if (team.is_root()) placed_.emplace(info_, &metadata_, plan.file, plan.compression.value_or(Compression::none));
    });
    part_ = team.ranks.broadcast(placed_ ? placed_->temporary_name().string() : "");
    name_ = team.ranks.broadcast(plan.file.string());
    together(team.ranks, [&] { writer_.emplace(part_, info_, name_); });
}

void FileOutput::keep(const Rect& kept, const ImageView& samples, StreamCounts& /*counts*/) {
    ImageView pixels = samples;
    if (samples.dtype != info_.dtype) {
        if (converted_.extent() != kept.extent) converted_ = Image(kept.extent, channels(), info_.dtype);
        from_float(samples, converted_.view());
        pixels = converted_.view();
    }
    Image alpha;
    if (info_.has_alpha) alpha = source_.file()->read_alpha(kept);
    writer_->write(kept.row, kept.column, pixels, alpha.view());
}

/// By the same readers as any image: what is checked is what a user will read.
Image FileOutput::read(const Rect& part) {
    if (!written_) written_ = open_placed(part_, info_, name_);
    Image image(part.extent, channels(), DType::f32);
    if (info_.dtype == DType::f32) {
        written_->read(part, image.view());
        return image;
    }
    Image samples(part.extent, channels(), info_.dtype);
    written_->read(part, samples.view());
    to_float(samples.view(), image.view());
    return image;
}

void FileOutput::commit() {
    if (placed_) placed_->commit();
}

}  // namespace pb
