#include "run/pixels/file_samples.hpp"

#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "config/text.hpp"
#include "image/formats/npy.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace pb::run {

namespace {

constexpr int64_t kBandRows = 64;  // rows converted together, so that a large part needs little extra memory

/// Returns the `info` of a file of which only `bands` are used.
image::ImageInfo with_bands(const std::string& path, image::ImageInfo info,
                            const std::optional<config::BandChoice>& bands) {
    if (!bands) return info;
    const int64_t there = info.stored_channels();
    if (bands->first + bands->count > there)
        throw UsageError(fmt::format("{}: has {} bands, but band {} is to be denoised (image.bands)", path, there,
                                     bands->first + bands->count));
    info.channels = bands->count;
    info.has_alpha = false;
    return info;
}

/// Calls `use(rows of part, same rows of to)` for bands of kBandRows rows.
template <class Use>
void for_bands(const Rect& part, MutablePixelView to, Use&& use) {
    for (int64_t y = 0; y < part.extent.h; y += kBandRows) {
        const int64_t count = std::min(kBandRows, part.extent.h - y);
        use(Rect{part.row + y, part.column, {count, part.extent.w}}, to.part({y, 0, {count, to.extent.w}}));
    }
}

/// Returns `part` enlarged by `margin` on each side, limited to the image.
Rect grown(const Rect& part, int64_t margin, Extent image) {
    const Extent extent{part.extent.h + 2 * margin, part.extent.w + 2 * margin};
    return intersection({part.row - margin, part.column - margin, extent}, {0, 0, image});
}

/// Parts spread evenly over the image, the same for every rank. A small image is returned as one part.
std::vector<Rect> spread_parts(Extent image) {
    constexpr int64_t kParts = 16, kEdge = 32;
    if (image.h <= kParts * kEdge && image.w <= kParts * kEdge) return {{0, 0, image}};
    const Extent part{std::min(kEdge, image.h), std::min(kEdge, image.w)};
    std::vector<Rect> parts;
    for (int64_t i = 0; i < kParts; ++i)
        for (int64_t j = 0; j < kParts; ++j)
            parts.push_back({(image.h - part.h) * i / (kParts - 1), (image.w - part.w) * j / (kParts - 1), part});
    return parts;
}

std::optional<double> nodata_of(const config::NodataChoice& choice, const image::ImageMetadata& metadata) {
    if (choice.kind == config::NodataChoice::Kind::none) return std::nullopt;
    return choice.kind == config::NodataChoice::Kind::value ? choice.value : metadata.nodata;
}

void require_not_inverted(const std::string& path, const image::ImageFile& file) {
    if (file.metadata().inverted)
        throw UsageError(
            path +
            ": has white as zero and is read inverted, so that neither a nodata value nor a range LO:HI is one of "
            "its samples; convert it to black as zero, or leave them out (denoise: --nodata none, --range auto)");
}

/// Returns the nodata value in the type of the samples: a tag of -9999 matches none of a photograph. Throws UsageError
/// for a given one that no sample can have, and where samples are inverted.
std::optional<double> nodata_in(const image::ImageFile& file, const config::ImageSettings& settings) {
    const config::NodataChoice choice = config::parse_nodata(settings.nodata);
    const DType type = file.info().dtype;
    const auto nodata = image::SampleMap(type, {0, 1}, true, nodata_of(choice, file.metadata())).nodata();
    if (choice.kind == config::NodataChoice::Kind::value && !std::isnan(choice.value) && !nodata)
        throw UsageError(fmt::format("{}: no sample can be {} (image.nodata, denoise: --nodata): its samples are {}",
                                     settings.path, settings.nodata, name_of(type)));
    if (nodata) require_not_inverted(settings.path, file);
    return nodata;
}

void check_given(const image::ImageFile& file, const config::ImageSettings& settings) {
    (void)nodata_in(file, settings);
    if (config::parse_range(settings.range).kind == config::RangeChoice::Kind::fixed)
        require_not_inverted(settings.path, file);
}

[[noreturn]] void refuse_range(const std::string& path, const UsageError& reason) {
    throw UsageError(path + ": no range of the samples is found: " + reason.what() +
                     "; give image.range (denoise: --range) as LO:HI");
}

/// Returns n: every nth value is kept, so that a stack of many pages takes the memory of 64 pages at most. n has no
/// factor in common with the number of channels, so that every channel is represented.
int64_t thinning(int64_t num_pages, int64_t channels) {
    constexpr int64_t kFullPages = 64;
    int64_t n = ceil_div(num_pages, kFullPages);
    while (std::gcd(n, channels) != 1) ++n;
    return n;
}

std::string form_of(const image::ImageFile& file) {
    const image::ImageInfo& info = file.info();
    const int orientation = image::orientation_of(file.metadata());
    return fmt::format("{} x {} px (height x width), {}{}{}", info.extent.h, info.extent.w,
                       counted(info.channels, "channel"),
                       file.num_pages() == 1 ? "" : ", " + counted(file.num_pages(), "page"),
                       orientation == 1 ? "" : fmt::format(", orientation {} (EXIF)", orientation));
}

OpenFiles check_form(OpenFiles files, const config::ImageSettings& settings) {
    if (files.clean == nullptr) return files;
    const std::string has = form_of(*files.clean), wanted = form_of(*files.image);
    if (has == wanted) return files;
    throw UsageError(
        fmt::format("{}: has {}, but {} has {}: image.clean (denoise: --clean) is the same image without noise",
                    settings.clean, has, settings.path, wanted));
}

OpenImage open_stack(const config::ImageSettings& settings, std::span<const int64_t> pages) {
    if (settings.raw.empty()) return image::open_stack(settings.path, pages);
    if (!pages.empty() && (pages.size() > 1 || pages.front() != 0))
        throw UsageError(settings.path + ": raw samples are one image, without pages; leave out --pages");
    return open_file(settings);
}

OpenFiles open_with(const config::ImageSettings& settings,
                    const std::function<OpenImage(const config::ImageSettings&)>& open) {
    OpenFiles files;
    files.states.push_back({settings.path, file_version(settings.path)});  // before anything is read
    files.image = open(settings);
    if (!settings.clean.empty()) {
        files.states.push_back({settings.clean, file_version(settings.clean)});
        files.clean = open(settings_of_clean(settings));
    }
    check_given_samples(settings, files);
    return check_form(std::move(files), settings);
}

}  // namespace

void check_given_samples(const config::ImageSettings& given, const OpenFiles& files) {
    check_given(*files.image, given);
    if (files.clean) check_given(*files.clean, settings_of_clean(given));
}

OpenImage open_file(const config::ImageSettings& settings) {
    if (settings.raw.empty()) return image::open_image(settings.path);
    const config::RawShape shape = config::parse_raw_shape(settings.raw);
    const bool alpha = shape.channels == 2 || shape.channels == 4;
    return image::open_raw_image(settings.path, {shape.extent, shape.channels - (alpha ? 1 : 0), shape.dtype, alpha});
}

void OpenFiles::turn_to(int64_t page) const {
    image->turn_to(page);
    if (clean) clean->turn_to(page);
}

config::ImageSettings settings_of_clean(const config::ImageSettings& settings) {
    config::ImageSettings clean = settings;
    clean.path = settings.clean;
    if (image::is_image_name(clean.path)) clean.raw.clear();
    return clean;
}

void OpenFiles::require_unchanged() const {
    for (const FileState& state : states) state.require_unchanged();
}

void FileState::require_unchanged() const {
    if (was_written_to(path, version))
        throw Error(fmt::format("{}: changed while it was read; run again when it is complete", path));
}

OpenFiles open_files(const config::ImageSettings& settings) { return open_with(settings, open_file); }

OpenFiles open_pages(const config::ImageSettings& settings, std::span<const int64_t> pages) {
    return open_with(settings, [&](const auto& each) { return open_stack(each, pages); });
}

FileSamples::FileSamples(const config::ImageSettings& settings, OpenImage file)
    : file_(std::move(file)),
      bands_(config::parse_bands(settings.bands)),
      info_(with_bands(settings.path, file_->info(), bands_)),
      map_(make_map(settings)) {
    if (bands_ && bands_->first + bands_->count > file_->info().channels) file_->take_alpha_as_band();
}

std::optional<image::SampleMap> FileSamples::make_map(const config::ImageSettings& settings) {
    const config::RangeChoice range = config::parse_range(settings.range);
    const auto nodata = nodata_in(*file_, settings);
    const bool has_gaps = nodata || range.kind != config::RangeChoice::Kind::of_type;
    const bool plain = info_.dtype == DType::u8 || info_.dtype == DType::u16 || info_.dtype == DType::f32;
    if (plain && !has_gaps) return std::nullopt;
    if (has_gaps) file_->keep_not_finite();
    if (range.kind == config::RangeChoice::Kind::fixed)
        return image::SampleMap(info_.dtype, {range.low, range.high}, has_gaps, nodata);
    if (range.kind == config::RangeChoice::Kind::automatic) try {
            return image::SampleMap(info_.dtype, find_range({info_.dtype, {0, 1}, has_gaps, nodata}), has_gaps, nodata);
        } catch (const UsageError& error) {
            refuse_range(settings.path, error);
        }
    if (const auto agreed = image::range_of_type(info_.dtype))
        return image::SampleMap(info_.dtype, *agreed, has_gaps, nodata);
    throw UsageError(settings.path + ": of " + std::string(name_of(info_.dtype)) +
                     " samples nothing says which values are black and white; give image.range (denoise: --range) as "
                     "auto or LO:HI");
}

image::SampleRange FileSamples::find_range(const image::SampleMap& marks) {
    std::vector<double> values = spread_values(marks);
    return image::range_of_values(values);
}

std::vector<double> FileSamples::spread_values(const image::SampleMap& marks) {
    std::vector<double> values;
    for (const Rect& part : spread_parts(info_.extent)) {
        image::Image stored(part.extent, info_.channels, info_.dtype);
        read_stored(part, stored.view());
        marks.append_data(stored.view(), values);
    }
    return values;
}

void FileSamples::read_bands(const Rect& part, MutablePixelView to) {
    if (!bands_) return file_->read(part, to);
    const image::ImageInfo& all = file_->info();
    for_bands(part, to, [&](const Rect& rows, MutablePixelView out) {
        image::Image colour(rows.extent, all.channels, all.dtype);
        file_->read(rows, colour.view());
        const int64_t colours = std::min(bands_->count, std::max<int64_t>(0, all.channels - bands_->first));
        image::copy_bands(colour.view(), bands_->first, colours, out, 0);
        if (colours < bands_->count) image::copy_bands(file_->read_alpha(rows).view(), 0, 1, out, colours);
    });
}

void FileSamples::read_stored(const Rect& part, MutablePixelView to) {
    if (file_->windowed()) return read_bands(part, to);
    if (decoded_.empty()) {
        image::Image whole(info_.extent, info_.channels, info_.dtype);
        read_bands({0, 0, info_.extent}, whole.view());
        decoded_ = std::move(whole);
    }
    image::copy_bands(decoded_.view().part(part), 0, info_.channels, to, 0);
}

image::Image FileSamples::read_marked(const Rect& part) {
    image::Image stored(part.extent, info_.channels, info_.dtype), marked(part.extent, info_.channels, DType::f32);
    read_stored(part, stored.view());
    if (map_)
        map_->to_unit(stored.view(), marked.view());
    else
        image::to_float(stored.view(), marked.view());
    return marked;
}

void FileSamples::read_unit(const Rect& part, MutablePixelView to) {
    for_bands(part, to, [&](const Rect& rows, MutablePixelView out) {
        const Rect around = grown(rows, has_gaps() ? image::kGapReach : 0, info_.extent);
        image::Image unit = read_marked(around);
        if (has_gaps()) unit = image::fill_gaps(unit.view(), around, rows);
        image::copy_bands(unit.view(), 0, info_.channels, out, 0);
    });
}

image::SampleRange range_of_pages(const config::ImageSettings& settings, const OpenImage& file) {
    config::ImageSettings as_stored = settings;
    as_stored.range = "0:1";  // only marks the gaps
    std::vector<double> kept;
    for (int64_t page = 0; page < file->num_pages(); ++page) {
        file->turn_to(page);
        FileSamples samples(as_stored, file);
        const std::vector<double> values = samples.spread_values(*samples.map());
        const auto step = static_cast<size_t>(thinning(file->num_pages(), samples.info().channels));
        for (size_t i = 0; i < values.size(); i += step) kept.push_back(values[i]);
    }
    try {
        return image::range_of_values(kept);
    } catch (const UsageError& error) {
        refuse_range(settings.path, error);
    }
}

std::string range_setting(const image::SampleRange& range) {
    return config::format_setting(range.low) + ":" + config::format_setting(range.high);
}

image::ImageInfo info_of(const config::ImageSettings& settings, const OpenFiles& opened) {
    return with_bands(settings.path, opened.image->info(), config::parse_bands(settings.bands));
}

}  // namespace pb::run
