#include "patchbench/run/work.hpp"

#include <algorithm>
#include <memory>

namespace pb {

namespace {

Work make_tile_work(const Point& point, int rank) {
    const auto grid = std::make_shared<const TileGrid>(tile_grid(point));
    Work work;
    work.task = [grid](int64_t index) { return WindowTask{grid->window(index), grid->core(index)}; };
    work.window = grid->window();
    work.windows = windows_of_rank(point, *grid, rank);
    if (work.windows.size() > 0) work.rows_seen = grid->rows_seen(work.windows);
    work.num_patches = grid->num_patches(work.windows);
    work.batch = point.batch.value();
    work.last_batch = point.settings.last_batch;
    return work;
}

Work make_whole_work(const Point& point, int rank) {
    auto calls = whole_image_calls(point.settings.network, point.source.extent, point.settings.odd_shape);
    const bool takes_part = rank == 0 || (point.settings.replicate && rank < point.num_ranks);
    Work work;
    work.window = calls.front().seen.extent;
    work.windows = takes_part ? Range{0, static_cast<int64_t>(calls.size())} : Range{};
    work.rows_seen = takes_part ? Range{0, point.source.extent.h} : Range{};
    work.num_patches = takes_part ? 1 : 0;  // one image is one patch
    work.task = [calls = std::move(calls)](int64_t index) {
        const auto& call = calls.at(static_cast<size_t>(index));
        return WindowTask{call.seen, call.kept};
    };
    return work;
}

}  // namespace

double Work::kept_pixels() const {
    double pixels = 0;
    for (int64_t index = windows.begin; index < windows.end; ++index)
        pixels += static_cast<double>(task(index).kept.extent.pixels());
    return pixels;
}

Work make_work(const Point& point, int rank) {
    return point.settings.workload == Workload::tiles ? make_tile_work(point, rank) : make_whole_work(point, rank);
}

std::vector<Rect> rects_of_ranks(const Point& point, int first, int last) {
    if (point.settings.workload == Workload::whole)
        return first == 0 ? std::vector<Rect>{{0, 0, point.source.extent}} : std::vector<Rect>{};
    const TileGrid grid = tile_grid(point);
    const Range windows{windows_of_rank(point, grid, first).begin, windows_of_rank(point, grid, last - 1).end};
    return windows.size() > 0 ? covered_rects(grid, windows) : std::vector<Rect>{};
}

double processed_pixels(const Point& point) {
    double pixels = 0;
    for (int rank = 0; rank < point.num_ranks; ++rank) {
        const Work work = make_work(point, rank);
        const bool padded = work.last_batch == LastBatch::pad;
        const int64_t num_windows = padded ? round_up(work.windows.size(), work.batch) : work.windows.size();
        pixels += static_cast<double>(num_windows * work.window.pixels());
    }
    return pixels;
}

int64_t num_patches(const Point& point) {
    int64_t patches = 0;
    for (int rank = 0; rank < point.num_ranks; ++rank) patches += make_work(point, rank).num_patches;
    return patches;
}

}  // namespace pb
