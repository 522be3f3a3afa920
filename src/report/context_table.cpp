#include "plan/context.hpp"
#include "report/numbers.hpp"
#include "report/report.hpp"
#include "report/text_table.hpp"

#include <fmt/format.h>

namespace pb::report {

namespace {

/// The choice, where one was made before a search.
std::string verdict_of(const plan::Point& point, const plan::ContextWay& way) {
    if (!way.obstacle.empty()) return way.obstacle;
    if (!point.halo) return "weighed after the search for a halo";
    const bool is_taken = point.band_rows == way.point.band_rows && point.halo == way.point.halo &&
                          point.strip_columns == way.point.strip_columns &&
                          point.exchanges_rows == way.point.exchanges_rows;
    return is_taken ? "taken" : "";
}

std::vector<std::string> row_of(const plan::Point& point, const plan::ContextWay& way) {
    const std::string least = way.is_at_least ? ">= " : "";
    return {std::to_string(point.index),
            way_text(way),
            least + readable(way.computed_per_useful),
            least + readable_mib(way.peak_mib),
            way.is_exact ? "exact" : "seams below halo_tolerance",
            verdict_of(point, way)};
}

}  // namespace

std::string context_table(const plan::Plan& plan, const TextSize& size) {
    using enum TextTable::Align;
    TextTable table;
    table.add_column("#");
    table.add_column("halo: auto weighs", left);
    table.add_column("arithmetic/\nuseful");
    table.add_column("predicted\npeak MiB");
    table.add_column("pixels", left);
    table.add_column("choice", left);
    bool is_any = false;
    for (const plan::Point& point : plan.points) {
        if (!plan::is_weighed(point)) continue;
        is_any = true;
        for (const plan::ContextWay& way : plan::context_ways(point, std::nullopt)) table.add_row(row_of(point, way));
    }
    return is_any ? table.text(size.width) : "";
}

}  // namespace pb::report
