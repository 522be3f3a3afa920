// Between nodes: every rank that does not share the root's memory sends the rectangles that its windows cover.
#include "run/rank_share.hpp"

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

void exchange(const Point& point, const Team& team, const Topology& topology, const Slab& output) {
    if (point.settings.workload == Workload::whole) return;  // the root has the image; copies stay where they are
    const int root_node = topology.ranks.front().node;
    if (team.is_root()) {
        for (int rank = 1; rank < team.ranks.size(); ++rank)
            if (topology.ranks[static_cast<size_t>(rank)].node != root_node)
                for (const Rect& rect : rects_of_ranks(point, rank, rank + 1))
                    receive_rect(rect, output, team.ranks, rank);
    } else if (team.place.node != root_node) {
        const int rank = team.ranks.rank();
        for (const Rect& rect : rects_of_ranks(point, rank, rank + 1)) send_rect(rect, output, team.ranks);
    }
}

}  // namespace pb
