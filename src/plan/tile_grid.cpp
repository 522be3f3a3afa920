#include "patchbench/plan/tile_grid.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace pb::plan {

namespace {

// Bounds that keep all products within int64 and the per-axis tables within memory.
constexpr int64_t kMaxExtent = int64_t{1} << 30;
constexpr int64_t kMaxTilesPerAxis = int64_t{1} << 22;

std::string multiples_near(int64_t value, int64_t alignment, int64_t smallest) {
    const int64_t below = value / alignment * alignment;
    const int64_t above = below + alignment;
    if (value < smallest || below < smallest) return fmt::format("the nearest is {}", smallest);
    return fmt::format("the nearest are {} and {}", below, above);
}

void check_multiple(const char* key, int64_t value, int64_t alignment, int64_t smallest) {
    const std::string named = fmt::format("{} = {} px", key, value);
    if (value > kMaxExtent) throw UsageError(fmt::format("{}: at most {}", named, kMaxExtent));
    if (value >= smallest && value % alignment == 0) return;
    const std::string rule = alignment == 1
                                 ? fmt::format("must be at least {}", smallest)
                                 : fmt::format("must be a multiple of {}{}", alignment, smallest > 0 ? "" : " or 0");
    throw UsageError(named + " " + rule + "; " + multiples_near(value, alignment, smallest));
}

/// Makes the text only where it is needed, because windows are asked for one by one.
void require_in_grid(int64_t index, int64_t num_windows) {
    if (index < 0 || index >= num_windows) throw Error(fmt::format("window {} is not in the grid", index));
}

void check_spec(Extent image, const TileSpec& spec) {
    require(spec.alignment >= 1, "alignment of a tile grid must be at least 1");
    require(spec.alignment % spec.step.value_or(1) == 0, "the alignment of a tile grid is no multiple of its step");
    check_multiple("patch", spec.patch, spec.alignment, spec.alignment);
    check_multiple("halo", spec.halo, spec.alignment, 0);
    const int64_t longest = std::max(image.h, image.w);
    const std::string extent = fmt::format("{}x{}", image.h, image.w);
    if (std::min(image.h, image.w) < 1) throw UsageError("image of " + extent + " px: there is nothing to tile");
    if (longest > kMaxExtent)
        throw UsageError(fmt::format("image of {} px: edges up to {} px can be tiled", extent, kMaxExtent));
    if (ceil_div(longest, spec.patch) > kMaxTilesPerAxis)
        throw UsageError(
            fmt::format("patch = {} px cuts an edge of {} px into more than {} patches: choose a larger patch",
                        spec.patch, longest, kMaxTilesPerAxis));
}

/// Note [Inward windows]; patches whose windows coincide share one tile.
std::vector<AxisTile> axis_tiles(int64_t extent, int64_t padded, int64_t window, int64_t patch, int64_t halo) {
    std::vector<AxisTile> tiles;
    for (int64_t begin = 0; begin < extent; begin += patch) {
        const int64_t start = std::clamp<int64_t>(begin - halo, 0, padded - window);
        const int64_t end = std::min(begin + patch, extent);
        if (!tiles.empty() && tiles.back().start == start) {
            tiles.back().core.end = end;
            ++tiles.back().num_patches;
        } else {
            tiles.push_back({start, {begin, end}, 1});
        }
    }
    return tiles;
}

int64_t count(const std::vector<AxisTile>& tiles) { return static_cast<int64_t>(tiles.size()); }

const AxisTile& at(const std::vector<AxisTile>& tiles, int64_t index) { return tiles[static_cast<size_t>(index)]; }

}  // namespace

TileGrid::TileGrid(Extent image, const TileSpec& spec) : image_(image), spec_(spec) {
    check_spec(image, spec);
    const int64_t step = spec.step.value_or(spec.alignment);
    padded_ = {round_up(image.h, step), round_up(image.w, step)};
    patch_ = {spec.patch, spec.full_width ? padded_.w : spec.patch};
    const auto window_edge = [&](int64_t patch, int64_t padded) {
        return std::min(patch + 2 * spec.halo + padded % spec.alignment, padded);
    };
    window_ = {window_edge(patch_.h, padded_.h), window_edge(patch_.w, padded_.w)};
    rows_ = axis_tiles(image.h, padded_.h, window_.h, patch_.h, spec.halo);
    columns_ = axis_tiles(image.w, padded_.w, window_.w, patch_.w, spec.halo);
}

TileGrid::TileGrid(Extent image, const TileSpec& spec, std::vector<AxisTile> columns, int64_t window_columns)
    : TileGrid(image, spec) {
    columns_ = std::move(columns);
    patch_.w = window_.w = window_columns;
    has_own_columns_ = true;
}

int64_t TileGrid::num_windows() const { return count(rows_) * count(columns_); }

int64_t TileGrid::patches_per_row() const { return has_own_columns_ ? count(columns_) : ceil_div(image_.w, patch_.w); }

int64_t TileGrid::num_patches() const { return ceil_div(image_.h, patch_.h) * patches_per_row(); }

int64_t TileGrid::num_patches(Range windows) const {
    // Patches in all windows before `index`: whole tile rows, then a part of one. Cores start at patch borders.
    const auto before = [&](int64_t index) {
        if (index == num_windows()) return num_patches();
        const AxisTile& row = at(rows_, index / count(columns_));
        const int64_t column = index % count(columns_);
        const int64_t left = has_own_columns_ ? column : at(columns_, column).core.begin / patch_.w;
        return row.core.begin / patch_.h * patches_per_row() + row.num_patches * left;
    };
    return windows.size() <= 0 ? 0 : before(windows.end) - before(windows.begin);
}

Rect TileGrid::window(int64_t index) const {
    require_in_grid(index, num_windows());
    return {at(rows_, index / count(columns_)).start, at(columns_, index % count(columns_)).start, window_};
}

Rect TileGrid::core(int64_t index) const {
    require_in_grid(index, num_windows());
    return rect_of(at(rows_, index / count(columns_)).core, at(columns_, index % count(columns_)).core);
}

Range TileGrid::window_rows(Range windows) const {
    if (windows.size() <= 0) return {};
    const int64_t last_start = window(windows.end - 1).row;
    return {window(windows.begin).row, std::min(last_start + window_.h, image_.h)};
}

int64_t TileGrid::processed_pixels() const {
    int64_t pixels = 0;
    if (__builtin_mul_overflow(count(rows_) * window_.h, count(columns_) * window_.w, &pixels))
        throw UsageError(
            fmt::format("patch = {} px with halo = {} px makes more pixels than can be counted: choose a larger patch "
                        "or a smaller halo",
                        spec_.patch, spec_.halo));
    return pixels;
}

std::vector<Rect> covered_rects(const TileGrid& grid, Range windows) {
    std::vector<Rect> rects;
    for (int64_t begin = windows.begin, end = begin; begin < windows.end; begin = end) {
        const Rect first = grid.core(begin);
        while (end < windows.end && grid.core(end).row == first.row) ++end;
        const Rect last = grid.core(end - 1);
        const Rect band = rect_of({first.row, first.row + first.extent.h},  // windows of one tile row
                                  {first.column, last.column + last.extent.w});
        if (!rects.empty() && rects.back().column == band.column && rects.back().extent.w == band.extent.w)
            rects.back().extent.h += band.extent.h;
        else
            rects.push_back(band);
    }
    return rects;
}

}  // namespace pb::plan
