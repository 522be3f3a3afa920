#include "run/pixels/output.hpp"

#include "base/mapped.hpp"
#include "base/stopwatch.hpp"
#include "device/host_memory.hpp"
#include "image/placed_image.hpp"
#include "plan/output_choice.hpp"
#include "run/agreement.hpp"
#include "run/verify/output_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace pb::run {

namespace {

/// The bytes of the input in the memory of the root's node. The output has the same size.
double image_bytes(const plan::Point& point, const ImageSource& source) {
    return static_cast<double>(point.source.extent.pixels()) * static_cast<double>(source.channels()) *
           static_cast<double>(size_of(source.dtype()));
}

/// Only the root knows the file.
std::string obstacle(const plan::Point& point, ImageSource& source, const Team& team, const PointFiles& files) {
    return team.is_root() ? file_obstacle(point, source, files) : plan::input_obstacle(point);
}

OutputPlan settle_automatic(const plan::Point& point, const Team& team, ImageSource& source, const PointFiles& files,
                            std::vector<std::string>& notes) {
    const auto available = device::available_host_memory_bytes();
    const bool here = available && plan::is_beyond_memory(image_bytes(point, source), *available);
    if (team.ranks.max(here ? 1 : 0) == 0) return {};
    const bool simulated = plan::is_simulated(point);
    const plan::OutputChoice choice = plan::choose_output(
        team.ranks.broadcast(simulated ? "there is no result to write" : obstacle(point, source, team, files)));
    notes.push_back(choice.note);
    return {choice.kind, choice.kind == config::OutputKind::file ? files.image : "", files.compression};
}

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
        return source().as_stored(part, samples.view());
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

/// Converts a few rows at a time, because gaps are read again from the input.
image::Image stored_image(const Slab& output, ImageSource& source, DType type) {
    constexpr int64_t kRows = 256;
    image::Image stored(output.image, output.pixels.channels, type);
    for (int64_t row = 0; row < output.image.h; row += kRows) {
        const Rect part{row, 0, {std::min(kRows, output.image.h - row), output.image.w}};
        source.to_stored(part, output.part(part), stored.view().part(part));
    }
    return stored;
}

namespace fs = std::filesystem;

constexpr std::array kPictures{"denoised", "noisy", "clean"};

/// Relative to the folder of the results.
std::string picture_name(const PointFiles& files, const char* which) { return files.preview + "-" + which + ".png"; }

/// Returns the name of the file.
std::string save_picture(const image::Image& picture, const PointFiles& files, const char* which) {
    image::Image bytes(picture.extent(), picture.channels(), DType::u8);
    image::from_float(picture.view(), bytes.view());
    std::string name = picture_name(files, which);
    image::save_image({.pixels = bytes.view(), .alpha = {}}, files.folder / name);
    return name;
}

}  // namespace

std::string file_obstacle(const plan::Point& point, ImageSource& source, const PointFiles& files) {
    const config::PointSettings& settings = point.settings;
    if (std::string why = plan::input_obstacle(point); !why.empty()) return why;
    if (settings.output == config::OutputKind::checksum) return "";
    if (files.image.empty()) return "there is no file to write; set save_images: on";
    if (files.take)
        return "the bands or pages of " + settings.image.path + " are put together in memory; leave out output";
    try {
        (void)image::find_places(source.stored_info(), files.image);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

std::string host_memory_note(const plan::Point& point, ImageSource& source, const PointFiles& files) {
    const double bytes = 2 * image_bytes(point, source);
    const auto available = device::available_host_memory_bytes();
    const config::OutputKind kind = point.settings.output;
    const bool may_hold = kind == config::OutputKind::memory ||
                          (kind == config::OutputKind::automatic && !file_obstacle(point, source, files).empty());
    if (!may_hold || !available || bytes <= static_cast<double>(*available)) return "";
    return fmt::format("input and output take {:.0f} MiB of host memory, and {:.0f} are free", bytes / kMiB,
                       static_cast<double>(*available) / kMiB);
}

OutputPlan plan_output(const plan::Point& point, const Team& team, ImageSource& source, const PointFiles& files,
                       std::vector<std::string>& notes) {
    const config::OutputKind kind = point.settings.output;
    if (kind == config::OutputKind::memory) return {};
    if (kind == config::OutputKind::automatic) return settle_automatic(point, team, source, files, notes);
    together(team.ranks, [&] {
        const std::string why = obstacle(point, source, team, files);
        if (!why.empty()) throw UsageError("output = " + std::string(name_of(kind)) + ": " + why);
    });
    return {kind, files.image, files.compression};
}

void finish_stream(const Team& team, StreamedSink& output, record::PointTrace& trace) {
    const Stopwatch watch;
    together(team.ranks, [&] { output.flush(); });
    trace.write_s += watch.seconds();
    if (trace.point.settings.output != config::OutputKind::checksum) return;
    const uint64_t checksum = sum_of_ranks(output.counts().checksum, team.ranks);
    if (const auto ranks = name_ranks_not_finite(team, output.counts())) trace.point.notes.push_back(*ranks);
    trace.point.notes.push_back(fmt::format("checksum of the output: {:016x}", checksum));
}

image::ImageMetadata metadata_to_save(ImageSource& source, const std::optional<image::Compression>& chosen) {
    if (source.file() == nullptr) return {};
    image::ImageMetadata metadata = source.file()->metadata();
    if (source.file()->info().extent != source.extent()) metadata = image::metadata_of_part(std::move(metadata));
    if (chosen) metadata.tiff_compression = image::ImageMetadata{}.tiff_compression;
    return metadata;
}

void save_output(const Slab& output, ImageSource& source, const PointFiles& files) {
    PixelView pixels = output.part({0, 0, output.image});
    image::ImageFile* original = source.file();
    const image::ImageInfo info = source.stored_info();
    image::Image stored;
    if (info.dtype != output.pixels.dtype || source.map() != nullptr) {
        stored = stored_image(output, source, info.dtype);
        pixels = stored.view();
    }
    if (files.take) return files.take(pixels);
    image::Image alpha;
    if (info.has_alpha) alpha = original->read_alpha();
    const image::ImageMetadata metadata = metadata_to_save(source, files.compression);
    source.require_unchanged();
    image::save_image({pixels, alpha.view(), &metadata, info.has_channel_axis}, files.image,
                      files.compression.value_or(image::Compression::none));
}

std::vector<fs::path> preview_files(const PointFiles& files) {
    return mapped(kPictures, [&](const char* which) { return files.folder / picture_name(files, which); });
}

record::Preview save_preview(CoreSink& output, ImageSource& source, int64_t edge, const PointFiles& files) {
    fs::create_directories((files.folder / files.preview).parent_path());
    record::Preview preview;
    const auto [height, width] = output.extent();
    preview.part = centre_of(output.extent(), {std::min(height, edge), std::min(width, edge)});
    preview.denoised_file = save_picture(output.read(preview.part), files, "denoised");
    preview.noisy_file = save_picture(source.read_noisy(preview.part), files, "noisy");
    if (source.clean_is_known()) preview.clean_file = save_picture(source.read_clean(preview.part), files, "clean");
    return preview;
}

std::unique_ptr<StreamedSink> make_file_sink(const Team& team, ImageSource& source, const OutputPlan& plan) {
    return std::make_unique<FileSink>(team, source, plan);
}

}  // namespace pb::run
