#include "report/tables/progress_text.hpp"

#include "report/expected_time.hpp"
#include "report/tables/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

std::string bar_text(double fraction, size_t width) {
    const auto full = static_cast<size_t>(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(width));
    return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

/// Shortens a name from its beginning: the names of a series differ at the end.
std::string shortened(const std::string& name, size_t width) {
    const size_t whole = width_of(name);
    if (whole <= width) return name;
    const std::string mark = "...";
    const size_t cut = whole - width + mark.size();
    return mark + name.substr(beginning_of(name, cut).size());
}

/// What a line has room for: characters of the bar and of the name, and which figures.
struct BarLayout {
    size_t bar, name;
    bool is_brief = false;
};
/// From the best to what a narrow terminal leaves.
constexpr BarLayout kLayouts[] = {{30, 40},       {20, 40},       {20, 24},       {10, 24},
                                  {10, 12},       {30, 40, true}, {20, 40, true}, {20, 24, true},
                                  {10, 24, true}, {10, 12, true}, {0, 12, true},  {0, 0, true}};

std::string joined(const std::string& name, double fraction, const BarFigures& figures, const BarLayout& layout) {
    std::string line = layout.name == 0 ? "" : shortened(name, layout.name);
    if (!line.empty()) line += ' ';
    if (layout.bar > 0) line += bar_text(fraction, layout.bar) + ' ';
    return line + (layout.is_brief && !figures.brief.empty() ? figures.brief : figures.full);
}

/// Returns what follows the figures of one image of several; empty before anything is done.
BarFigures figures_of_all(const ImageProgress& image) {
    const double done = image.share_before + image.fraction * image.share;
    const auto left = image.share > 0 ? seconds_left(done, image.all_s) : std::nullopt;
    if (!left) return {};
    const std::string time = clock_text(*left) + " left";
    const double done_mpx = done * image.all_pixels / 1e6;
    return {fmt::format("; in all {} of about {} Mpx, {} Mpx/s, {}", readable(done_mpx),
                        readable(image.all_pixels / 1e6), readable(done_mpx / image.all_s), time),
            "; in all " + time};
}

}  // namespace

bool Throttle::is_due(double now_s) {
    if (now_s < next_s_) return false;
    next_s_ = now_s + interval_s_;
    return true;
}

std::optional<double> seconds_left(double fraction, double seconds) {
    if (fraction <= 0) return std::nullopt;
    return seconds * std::max(0.0, 1 - fraction) / fraction;
}

double part_of_point(int64_t passes_done, int64_t planned) {
    return static_cast<double>(passes_done) / static_cast<double>(std::max(planned, passes_done + 1));
}

std::string bar_line(const std::string& name, double fraction, const BarFigures& figures, size_t columns) {
    const size_t room = columns == 0 ? 0 : columns - 1;
    std::string line;
    for (const BarLayout& layout : kLayouts) {
        line = joined(name, fraction, figures, layout);
        if (width_of(line) <= room) return line;
    }
    return beginning_of(line, room);
}

BarFigures image_figures(const ImageProgress& image) {
    const BarFigures in_all = figures_of_all(image);
    if (!image.activity.empty()) {
        const std::string activity(image.activity);
        return {activity + in_all.full, activity + in_all.brief};
    }
    const double done = image.fraction * image.pixels / 1e6;
    const auto left = seconds_left(image.fraction, image.pass_s);
    const std::string rate =
        left ? fmt::format(", {} Mpx/s, {} left", readable(done / image.pass_s), clock_text(*left)) : "";
    const std::string percent = fmt::format("{:.0f} %", 100 * image.fraction);
    return {
        fmt::format("{}, {} of {} Mpx{}{}", percent, readable(done), readable(image.pixels / 1e6), rate, in_all.full),
        percent + rate + in_all.brief};
}

std::string time_line(double wall_s, const std::vector<std::pair<std::string_view, double>>& parts) {
    std::string line = fmt::format("{:.2f} s in all", wall_s);
    for (size_t i = 0; i < parts.size(); ++i)
        line += fmt::format("{}{} {:.2f} s", i == 0 ? ": " : ", ", parts[i].first, parts[i].second);
    return line;
}

}  // namespace pb::report
