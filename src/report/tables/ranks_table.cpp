#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

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

std::string ranks_table(const measure::Summary& summary, const plan::Topology& topology, size_t width) {
    TextTable table = make_ranks_table();
    for (const auto& rank : summary.ranks) table.add_row(row_of(rank, find_place(topology, rank.rank)));
    const std::string gathered = summary.reduction.empty() ? "not gathered" : "gathered by " + summary.reduction;
    return fmt::format("Ranks of {}\n{}{}{}\n", summary.label, table.text(width), balance_text(summary, topology),
                       gathered);
}

}  // namespace pb::report
