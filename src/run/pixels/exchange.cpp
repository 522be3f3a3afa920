// Transfer between nodes: every rank that does not share the root's memory sends the rectangles that its windows cover.
#include "base/fault.hpp"
#include "run/point/rank_share.hpp"

#include <vector>

namespace pb::run {

namespace {

/// Full rows are contiguous, so they are sent as one piece.
comm::Rows rows_of(const Rect& rect, const Slab& slab) {
    const size_t bytes = static_cast<size_t>(rect.extent.w) * slab.pixels.pixel_bytes();
    const auto count = static_cast<size_t>(rect.extent.h);
    if (bytes == slab.pixels.row_bytes) return {slab.at(rect.row, 0), 1, count * bytes, count * bytes};
    return {slab.at(rect.row, rect.column), count, bytes, slab.pixels.row_bytes};
}

comm::RowTransfer make_shipment(int from, const plan::Point& point, const std::vector<Range>& windows,
                                const Slab& output) {
    comm::RowTransfer transfer{.from = from, .rows = {}};
    for (const Rect& rect : rects_of_windows(point, windows)) transfer.rows.push_back(rows_of(rect, output));
    return transfer;
}

/// The windows of each rank in the last pass, on the root. With fixed shares they are computed, not gathered.
/// Collective.
std::vector<std::vector<Range>> windows_of_ranks(const plan::Point& point, const Team& team, const RankShare& share) {
    std::vector<std::vector<Range>> all;
    if (point.settings.schedule == config::Schedule::contiguous) {
        for (int rank = 0; team.is_root() && rank < team.ranks.size(); ++rank)
            all.push_back({make_work(point, rank).windows});
        return all;
    }
    std::vector<double> mine;
    for (const Range& run : share.windows_done())
        mine.insert(mine.end(), {static_cast<double>(run.begin), static_cast<double>(run.end)});
    for (const auto& row : team.ranks.gather(mine)) {
        auto& runs = all.emplace_back();
        for (size_t i = 0; i + 1 < row.size(); i += 2)
            runs.push_back({static_cast<int64_t>(row[i]), static_cast<int64_t>(row[i + 1])});
    }
    return all;
}

/// The transfers of this rank: what it sends, or, on the root, what all other ranks send. Collective.
std::vector<comm::RowTransfer> make_shipments(const plan::Point& point, const Team& team, const RankShare& share) {
    const auto windows = windows_of_ranks(point, team, share);
    std::vector<comm::RowTransfer> transfers;
    if (!team.is_root()) {
        if (!team.shares_root_node(team.ranks.rank()))
            transfers.push_back(make_shipment(team.ranks.rank(), point, share.windows_done(), share.output()));
        return transfers;
    }
    for (int rank = 1; rank < team.ranks.size(); ++rank)
        if (!team.shares_root_node(rank))
            transfers.push_back(make_shipment(rank, point, windows[static_cast<size_t>(rank)], share.output()));
    return transfers;
}

}  // namespace

std::optional<int64_t> exchange(const plan::Point& point, const Team& team, const RankShare& share) {
    inject_fault("exchange");
    // Whole images: the root already has the output, and copies stay on their ranks.
    if (!team.spans_nodes || share.streamed() != nullptr || point.settings.workload == config::Workload::whole)
        return std::nullopt;
    const auto transfers = make_shipments(point, team, share);
    team.channel->transfer(transfers);
    size_t bytes = 0;
    for (const comm::RowTransfer& transfer : transfers) bytes += transfer.total();
    return static_cast<int64_t>(bytes);
}

}  // namespace pb::run
