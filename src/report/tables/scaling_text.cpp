// Writes the scaling over ranks as tables.
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

std::string percent_of(std::optional<double> part) { return part ? fmt::format("{:.1f} %", 100 * *part) : "-"; }

std::string milliseconds(std::optional<double> seconds) { return seconds ? readable(1000 * *seconds) : "-"; }

/// Returns the longest waiting time and the rank that waited.
std::string longest_wait(const measure::ScalingPoint& point) {
    const auto longest = std::ranges::max_element(point.waiting, {}, &measure::RankWaiting::waiting_s);
    if (longest == point.waiting.end() || point.num_ranks == 1) return "-";
    return fmt::format("{} ({})", milliseconds(longest->waiting_s), longest->rank);
}

std::string speedup_table(const measure::Scaling& scaling, size_t width) {
    TextTable table;
    table.add_columns({"ranks", "pass s\n[95 %]", "speed-up\n[95 %]", "ideal", "bound", "efficiency\n[95 %]",
                       "of the\nbound", "longest wait\nms (rank)"});
    for (const auto& point : scaling.points)
        table.add_row({std::to_string(point.num_ranks), with_interval(point.pipeline_s, point.pipeline_range),
                       with_interval(point.speedup, point.speedup_range), readable(point.ideal), readable(point.bound),
                       with_interval(point.efficiency, point.efficiency_range), percent_of(point.of_bound),
                       longest_wait(point)});
    return table.text(width);
}

/// Returns the names of the parts that at least one point has, in the order of the stages.
std::vector<std::string> part_names(const measure::Scaling& scaling) {
    const auto is_used = [&](std::string_view name) {
        return std::ranges::any_of(scaling.points, [&](const measure::ScalingPoint& point) {
            return std::ranges::find(point.parts, name, &measure::TimePart::name) != point.parts.end();
        });
    };
    std::vector<std::string> names;
    for (const auto& [stage, name] : enum_table<record::Stage>())
        if (is_used(name)) names.emplace_back(name);
    for (const char* name : {"waiting", "other"})
        if (is_used(name)) names.emplace_back(name);
    return names;
}

std::string parts_table(const measure::Scaling& scaling, size_t width) {
    const auto names = part_names(scaling);
    TextTable table;
    table.add_column("ranks");
    for (const auto& name : names) table.add_column(name);
    for (const auto& point : scaling.points) {
        std::vector<std::string> cells{std::to_string(point.num_ranks)};
        for (const auto& name : names) {
            const auto part = std::ranges::find(point.parts, name, &measure::TimePart::name);
            cells.push_back(part == point.parts.end() ? "-" : percent_of(part->part));
        }
        table.add_row(std::move(cells));
    }
    return "  parts of the ranks' time (stages of a device overlap with the host's)\n" + table.text(width);
}

std::string costs_table(const measure::Scaling& scaling, size_t width) {
    TextTable table;
    table.add_columns({"ranks", "devices s", "beyond\nthem", "a window\nms", "between\npasses ms", "CPU ms\na patch",
                       "host\ncores", "MiB\na rank"});
    for (const auto& point : scaling.points)
        table.add_row({std::to_string(point.num_ranks), readable(point.simulated_s), percent_of(point.beyond_bound),
                       milliseconds(point.overhead_per_window_s), milliseconds(point.between_s),
                       milliseconds(point.cpu_per_patch_s), readable(point.host_cores),
                       readable_mib(point.host_peak_mib)});
    return std::string("  what the program costs beside the ") + (scaling.simulated ? "simulated devices" : "network") +
           "\n" + table.text(width);
}

}  // namespace

std::string scaling_text(const measure::Scaling& scaling, size_t width) {
    std::string text =
        fmt::format("{} scaling of {}{}\n", scaling.kind == measure::ScalingKind::strong ? "Strong" : "Weak",
                    scaling.label, scaling.simulated ? " (SIMULATED: no network ran)" : "");
    text += speedup_table(scaling, width) + "\n" + parts_table(scaling, width) + "\n" + costs_table(scaling, width);
    for (const auto& warning : scaling.warnings) text += "  warning: " + warning + "\n";
    return text;
}

}  // namespace pb::report
