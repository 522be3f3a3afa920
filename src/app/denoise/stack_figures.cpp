#include "app/denoise/stack_figures.hpp"

#include "config/sample_settings.hpp"
#include "image/quality.hpp"
#include "measure/study/recommendation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace pb::app {

namespace {

double mean_squared_error(double psnr_db) { return std::pow(10, -psnr_db / 10); }

}  // namespace

void PageNote::add(int64_t page, const std::string& note, double badness) {
    if (pages.empty() || badness > largest) {
        text = fmt::format("page {}: {}", page, note);
        largest = badness;
    }
    pages.insert(page);
}

std::string PageNote::line() const {
    if (pages.size() < 2) return text;
    return fmt::format("{} ({} pages have such a note)", text, pages.size());
}

void StackFigures::add(const StackPass& pass, int64_t page) {
    const record::PointTrace& trace = pass.trace;
    if (!first_) first_ = pass;
    add_notes(pass, page);
    add_lost(trace.lost_metadata);
    lowest_sigma_ = std::min(lowest_sigma_, trace.point.sigma);
    highest_sigma_ = std::max(highest_sigma_, trace.point.sigma);
    const config::ImageSettings& image = trace.point.settings.image;
    if (const auto bands = config::parse_bands(image.bands))
        num_bands_ = std::max(num_bands_, bands->first + bands->count);
    if (const auto range = fixed_range(image)) {
        if (std::ranges::find(ranges_, image.bands, &BandRange::bands) == ranges_.end())
            ranges_.push_back({image.bands, *range});
        const double level = trace.point.sigma * range->width();
        lowest_level_ = std::min(lowest_level_, level);
        highest_level_ = std::max(highest_level_, level);
    }
    if (image.bands == first_point().settings.image.bands) pixels_ += trace.useful_pixels;  // groups have the same ones
    seconds_ += pass.summary.pipeline_s.value_or(0);
    if (!trace.quality) return;
    const record::Quality& quality = *trace.quality;
    noisy_error_ += quality.samples * mean_squared_error(quality.psnr_noisy_db);
    denoised_error_ += quality.samples * mean_squared_error(quality.psnr_denoised_db);
    num_compared_ += quality.samples;
}

ImageLine StackFigures::line(const DenoiseJob& names, int64_t num_pages, const LineNote& sigma_note) const {
    StackPass all = first_.value();
    const std::string ranges = ranges_note();
    record::PointTrace& trace = all.trace;
    trace.point.settings.image.bands.clear();
    trace.quality = quality();
    trace.lost_metadata = fmt::format("{}", fmt::join(lost_, ", "));
    trace.verification.seam_error.reset();  // the worst of all pages has its note, as has the change
    trace.verification.mean_shift.reset();
    trace.verification.rms_change.reset();
    measure::Summary summary;
    summary.pipeline_s = seconds_;
    if (seconds_ > 0) summary.useful_mpx_per_s = pixels_ / seconds_ / 1e6;
    ImageLine line = denoise_line(names, trace, summary,
                                  {{{beyond_.line()},
                                    {low_.note()},
                                    {tiny_.line()},
                                    is_noise_alike_ ? sigma_note : LineNote{noise_.line()},
                                    {ranges},
                                    {levels_note()},
                                    halo_note(trace.point),
                                    {seams_.line()},
                                    {change_.line()}},
                                   !beyond_.pages.empty()});
    line.pages = num_pages;
    if (num_bands_ > 0) line.channels = num_bands_;
    if (!ranges.empty()) line.low = line.high = std::nullopt;
    return line;
}

/// Keeps the first page outside [0, 1] and the first one with a note on its noise, the largest seams and change, and
/// whether all pages are low.
void StackFigures::add_notes(const StackPass& pass, int64_t page) {
    if (pass.range.is_beyond()) beyond_.add(page, pass.range.note(), 0);
    if (pass.range.kind == RangeFit::Kind::tiny) tiny_.add(page, pass.range.note(), 0);
    const std::string& noise = pass.trace.point.sigma_note;
    if (!noise.empty()) noise_.add(page, noise, 0);
    is_noise_alike_ = is_noise_alike_ && noise == first_point().sigma_note;
    if (pass.range.kind != RangeFit::Kind::low) low_.kind = RangeFit::Kind::good;
    low_.samples.high = std::max(low_.samples.high, pass.range.samples.high);
    if (const auto seams = measure::visible_seams(pass.trace)) seams_.add(page, seam_note(pass.trace), *seams);
    const std::string change = pass.range.is_beyond() ? "" : measure::change_note(pass.trace);
    if (!change.empty()) change_.add(page, change, pass.trace.verification.rms_change.value_or(0));
}

/// Adds names that are separated as in record::PointTrace, each once. No name that differs from page to page has the
/// separator in it.
void StackFigures::add_lost(const std::string& names) {
    constexpr std::string_view kSeparator = ", ";
    for (size_t begin = 0; begin < names.size();) {
        const size_t end = std::min(names.find(kSeparator, begin), names.size());
        const std::string name = names.substr(begin, end - begin);
        if (std::ranges::find(lost_, name) == lost_.end()) lost_.push_back(name);
        begin = end + kSeparator.size();
    }
}

/// Without SSIM.
std::optional<record::Quality> StackFigures::quality() const {
    if (num_compared_ == 0) return std::nullopt;
    const auto samples = static_cast<int64_t>(num_compared_);
    const double none = std::numeric_limits<double>::quiet_NaN();
    return record::Quality{image::psnr_of(noisy_error_, samples), image::psnr_of(denoised_error_, samples), none, none,
                           num_compared_};
}

/// Empty where the groups of bands have one range.
std::string StackFigures::ranges_note() const {
    const auto ends = [](const BandRange& each) { return std::pair(each.range.high, each.range.low); };
    const auto [lowest, highest] = std::ranges::minmax_element(ranges_, {}, ends);
    if (ranges_.empty() || lowest->range == highest->range) return "";
    const auto text = [](const BandRange& each) {
        return fmt::format("{:.6g}:{:.6g} ({})", each.range.low, each.range.high, each.bands);
    };
    return fmt::format("each group of bands has its own range, from {} to {}", text(*lowest), text(*highest));
}

std::string StackFigures::levels_note() const {
    if (!first_point().uses_sigma || lowest_sigma_ == highest_sigma_) return "";
    const std::string shares = fmt::format("{:.4g} to {:.4g}", lowest_sigma_, highest_sigma_);
    return fmt::format("each page{} has its own sigma, here that of the first one; of all pages ",
                       num_bands_ > 0 ? " and group of bands" : "") +
           (highest_level_ > 0
                ? fmt::format("{:.4g} to {:.4g} ({} of the range)", lowest_level_, highest_level_, shares)
                : shares);
}

}  // namespace pb::app
