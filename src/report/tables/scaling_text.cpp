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

const plan::RankPlace* find_place(const plan::Topology& topology, int rank) {
    const auto place = std::ranges::find(topology.ranks, rank, &plan::RankPlace::rank);
    return place == topology.ranks.end() ? nullptr : &*place;
}

std::string device_text(const plan::RankPlace& place) {
    if (place.device.is_cuda()) return fmt::format("cuda:{} {}", place.device.index, place.device_name);
    return place.device_name.empty() ? "cpu" : place.device_name;
}

TextTable make_ranks_table() {
    using enum TextTable::Align;
    TextTable table;
    table.add_column("rank");
    table.add_columns({"host", "device"}, left);
    table.add_columns({"patches", "patches/s", "wall s", "allocated\npeak MiB", "reserved\npeak MiB",
                       "device\nused MiB", "host\npeak MiB"});
    return table;
}

std::vector<std::string> row_of(const measure::RankSummary& rank, const plan::RankPlace* place) {
    return {std::to_string(rank.rank),
            place != nullptr ? place->host : "?",
            place != nullptr ? device_text(*place) : "?",
            std::to_string(rank.num_patches),
            readable(rank.patches_per_s),
            readable(rank.wall_s),
            readable_mib(rank.allocated_peak_mib),
            readable_mib(rank.reserved_peak_mib),
            readable_mib(rank.device_used_mib),
            readable_mib(rank.host_peak_mib)};
}

std::string balance_text(const measure::Summary& summary, const plan::Topology& topology) {
    if (!summary.imbalance || !summary.slowest_rank || summary.ranks.size() < 2) return "";
    const auto* place = find_place(topology, *summary.slowest_rank);
    return fmt::format("slowest rank {}{}, imbalance (max / mean) {:.3f}; ", *summary.slowest_rank,
                       place != nullptr ? "@" + place->host : "", *summary.imbalance);
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

std::string ranks_table(const measure::Summary& summary, const plan::Topology& topology, size_t width) {
    TextTable table = make_ranks_table();
    for (const auto& rank : summary.ranks) table.add_row(row_of(rank, find_place(topology, rank.rank)));
    const std::string gathered = summary.reduction.empty() ? "not gathered" : "gathered by " + summary.reduction;
    return fmt::format("Ranks of {}\n{}{}{}\n", summary.label, table.text(width), balance_text(summary, topology),
                       gathered);
}

}  // namespace pb::report
