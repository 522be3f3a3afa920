#include "run/point/exchange.hpp"

#include "base/fault.hpp"

#include <fmt/format.h>

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

comm::RowTransfer transfer_from(int from, const plan::Point& point, const std::vector<Range>& windows,
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
        if (!team.is_root()) return all;
        const plan::TileGrid grid = plan::tile_grid(point);
        for (int rank = 0; rank < team.ranks.size(); ++rank) all.push_back({plan::windows_of_rank(point, grid, rank)});
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
std::vector<comm::RowTransfer> transfers_of(const plan::Point& point, const Team& team, const RankShare& share) {
    const auto windows = windows_of_ranks(point, team, share);
    std::vector<comm::RowTransfer> transfers;
    if (!team.is_root()) {
        if (!team.shares_root_node(team.ranks.rank()))
            transfers.push_back(transfer_from(team.ranks.rank(), point, share.windows_done(), share.output()));
        return transfers;
    }
    for (int rank = 1; rank < team.ranks.size(); ++rank)
        if (!team.shares_root_node(rank))
            transfers.push_back(transfer_from(rank, point, windows[static_cast<size_t>(rank)], share.output()));
    return transfers;
}

/// For tests only (base/fault.hpp): changes a sample that the root has received.
void damage(const std::vector<comm::RowTransfer>& received) {
    const auto action = meet_value_fault("transfer");
    if (!action) return;
    if (*action != "lose") refuse_fault(*action);
    for (const comm::RowTransfer& each : received)
        if (!each.rows.empty()) *each.rows.front().first ^= std::byte{1};
}

/// Whether output travels at all. Of whole images the root already has the output, and copies stay on their ranks.
bool is_sent(const plan::Point& point, const Team& team, const RankShare& share) {
    return team.spans_nodes && share.streamed() == nullptr && point.settings.workload != config::Workload::whole;
}

constexpr size_t kDigits = 16;

/// The checksum of a rank's windows in the output of this node, in kDigits digits. Those in the memory of the root are
/// not looked at.
std::string checksum_text(const plan::Point& point, const Team& team, int rank, const std::vector<Range>& windows,
                          const Slab& output) {
    uint64_t sum = 0;
    if (!team.shares_root_node(rank))
        for (const Rect& rect : rects_of_windows(point, windows))
            sum += checksum_of(output.part(rect), rect.row, rect.column, output.image.w);
    return fmt::format("{:016x}", sum);
}

}  // namespace

std::optional<int64_t> exchange(const plan::Point& point, const Team& team, const RankShare& share) {
    inject_fault("exchange");
    if (!is_sent(point, team, share)) return std::nullopt;
    const auto transfers = transfers_of(point, team, share);
    team.channel->transfer(transfers);
    if (team.is_root()) damage(transfers);
    size_t bytes = 0;
    for (const comm::RowTransfer& transfer : transfers) bytes += transfer.total();
    return static_cast<int64_t>(bytes);
}

std::optional<std::string> find_lost_rows(const plan::Point& point, const Team& team, const RankShare& share) {
    if (!is_sent(point, team, share)) return std::nullopt;
    const int own = team.ranks.rank();
    const auto all = windows_of_ranks(point, team, share);
    std::string received;
    for (size_t rank = 0; team.is_root() && rank < all.size(); ++rank)
        received += checksum_text(point, team, static_cast<int>(rank), all[rank], share.output());
    received = team.ranks.broadcast(received);
    std::optional<std::string> mine;
    if (received.substr(kDigits * static_cast<size_t>(own), kDigits) !=
        checksum_text(point, team, own, share.windows_done(), share.output()))
        mine = "windows of this rank did not arrive on rank 0 as they are: a fault of the network, of MPI or of NCCL";
    return team.ranks.agree(mine);
}

}  // namespace pb::run
