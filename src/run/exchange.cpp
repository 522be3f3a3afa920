// Between nodes: every rank that does not share the root's memory sends the rectangles that its windows cover.
#include "run/rank_share.hpp"

#include "patchbench/base/fault.hpp"

#include <vector>

namespace pb {

namespace {

constexpr int kTag = 17;

bool spans_rows(const Rect& rect, const Slab& slab) { return rect.extent.w == slab.image.w; }

std::span<std::byte> rows_of(const Rect& rect, const Slab& slab) {
    return {slab.at(rect.row, 0), static_cast<size_t>(rect.extent.h) * slab.row_bytes()};
}

/// Copies between the slab and dense rows; `to_slab` says which way.
void copy_rect(const Rect& rect, const Slab& slab, std::byte* dense, bool to_slab) {
    const size_t bytes = static_cast<size_t>(rect.extent.w) * slab.pixel_bytes();
    for (int64_t y = 0; y < rect.extent.h; ++y) {
        std::byte* in_slab = slab.at(rect.row + y, rect.column);
        std::byte* in_dense = dense + static_cast<size_t>(y) * bytes;
        std::copy_n(to_slab ? in_dense : in_slab, bytes, to_slab ? in_slab : in_dense);
    }
}

std::vector<std::byte> dense_buffer(const Rect& rect, const Slab& slab) {
    return std::vector<std::byte>(static_cast<size_t>(rect.extent.pixels()) * slab.pixel_bytes());
}

void send_rect(const Rect& rect, const Slab& slab, const Communicator& ranks) {
    if (spans_rows(rect, slab)) return ranks.send(rows_of(rect, slab), 0, kTag);
    auto dense = dense_buffer(rect, slab);
    copy_rect(rect, slab, dense.data(), false);
    ranks.send(dense, 0, kTag);
}

void receive_rect(const Rect& rect, const Slab& slab, const Communicator& ranks, int from) {
    if (spans_rows(rect, slab)) return ranks.receive(rows_of(rect, slab), from, kTag);
    auto dense = dense_buffer(rect, slab);
    ranks.receive(dense, from, kTag);
    copy_rect(rect, slab, dense.data(), true);
}

}  // namespace

namespace {

/// What each rank did in the last pass, on the root: known beforehand where shares are fixed. Collective.
std::vector<std::vector<Range>> windows_of_ranks(const Point& point, const Team& team, const RankShare& share) {
    std::vector<std::vector<Range>> all;
    if (point.settings.schedule == Schedule::contiguous) {
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

}  // namespace

std::optional<int64_t> exchange(const Point& point, const Team& team, const RankShare& share) {
    meet_fault("exchange");
    // Of whole images the root has its own; copies stay where they are.
    if (!team.spans_nodes || share.streamed() != nullptr || point.settings.workload == Workload::whole)
        return std::nullopt;
    const Slab& output = share.output();
    const auto windows = windows_of_ranks(point, team, share);
    int64_t pixels = 0;
    if (team.is_root()) {
        for (int rank = 1; rank < team.ranks.size(); ++rank)
            if (!team.shares_root_node(rank))
                for (const Rect& rect : rects_of_windows(point, windows[static_cast<size_t>(rank)])) {
                    receive_rect(rect, output, team.ranks, rank);
                    pixels += rect.extent.pixels();
                }
    } else if (!team.shares_root_node(team.ranks.rank())) {
        for (const Rect& rect : rects_of_windows(point, share.windows_done())) send_rect(rect, output, team.ranks);
    }
    return pixels * static_cast<int64_t>(output.pixel_bytes());
}

}  // namespace pb
