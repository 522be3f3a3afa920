#include "plan/context.hpp"
#include "plan/prediction.hpp"
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

#include <vector>

namespace pb::report {

namespace {

/// Returns "0-255, 256-511, 512-767, .., 7936-8191": the rows of the first ranks and of the last one.
std::string owners_text(const plan::Point& point) {
    constexpr int kNamed = 4;
    std::vector<std::string> texts;
    const int slabs = plan::num_slabs(point);
    for (int rank = 0; rank < slabs; ++rank) {
        const bool is_named = rank < kNamed || rank == slabs - 1;
        if (is_named) {
            const Range rows = plan::slab_of_rank(point, rank)->shape().rows;
            texts.push_back(fmt::format("{}-{}", rows.begin, rows.end - 1));
        } else if (rank == kNamed) {
            texts.emplace_back("..");
        }
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::string time_text(const plan::Point& point, const plan::Link& link, std::optional<double> rank_tflops) {
    const double seconds = plan::exchange_seconds(point, link);
    std::string text =
        fmt::format("     over {} us and {} GB/s: {} s a pass, when nothing is computed meanwhile\n",
                    readable(link.latency_s * 1e6), readable(link.bytes_per_s * 1e-9), readable(seconds));
    const auto prediction = plan::predict(point);
    if (!rank_tflops || !prediction) return text;
    const double computing_s = prediction->flop_busiest_rank / 1e12 / *rank_tflops;
    return text + fmt::format("     at {} TFLOP/s a rank computes for {} s: messages add at most {} %\n",
                              readable(*rank_tflops), readable(computing_s), readable(100 * seconds / computing_s));
}

std::string exchange_lines(const plan::Point& point, const std::optional<plan::Link>& link,
                           std::optional<double> rank_tflops) {
    const auto exchanges = network::travelling_maps(point.graph(), plan::computed_unit(point)).size();
    const network::SlabTraffic traffic = plan::busiest_traffic(point);
    const bool is_alone = plan::num_slabs(point) < 2;
    std::string text = fmt::format("  {}: rows of the ranks: {}\n", point.index, owners_text(point));
    text += is_alone ? "     one rank: nothing travels\n"
                     : fmt::format(
                           "     {} exchanges a pass; a rank sends up to {} messages, {} MiB, the largest {} "
                           "MiB\n",
                           exchanges, traffic.messages, readable_mib(static_cast<double>(traffic.bytes) / kMiB),
                           readable_mib(static_cast<double>(traffic.largest) / kMiB));
    return link && !is_alone ? text + time_text(point, *link, rank_tflops) : text;
}

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

std::string exchanged_formula_of(const plan::Point& point, double weights) {
    const auto [maps, in_out] = plan::slab_bytes(point);
    return fmt::format(
        "halo exchanged, slabs of {} x {}: {:.1f} MiB of weights + {:.1f} MiB of maps with their border rows + "
        "{:.1f} MiB of the slab's input and output\n",
        plan::slab_rows_text(point), plan::tile_grid(point).padded().w, weights / kMiB,
        static_cast<double>(maps) / kMiB, static_cast<double>(in_out) / kMiB);
}

std::string exchange_text(const plan::Plan& plan, const std::optional<plan::Link>& link,
                          std::optional<double> rank_tflops) {
    std::string text;
    for (const plan::Point& point : plan.points)
        if (point.refusal.empty() && plan::is_exchanged(point)) text += exchange_lines(point, link, rank_tflops);
    return text.empty() ? "" : "Slabs and border rows (halo: exchanged), by point\n" + text;
}

std::string context_table(const plan::Plan& plan, const TextSize& size) {
    using enum TextTable::Align;
    TextTable table;
    table.add_column("#");
    table.add_column("halo: auto weighs", left);
    table.add_columns({"arithmetic/\nuseful", "predicted\npeak MiB"});
    table.add_columns({"pixels", "choice"}, left);
    bool is_any = false;
    for (const plan::Point& point : plan.points) {
        if (!plan::is_weighed(point)) continue;
        is_any = true;
        for (const plan::ContextWay& way : plan::context_ways(point, std::nullopt)) table.add_row(row_of(point, way));
    }
    return is_any ? table.text(size.width) : "";
}

}  // namespace pb::report
