#include "plan/cropping.hpp"

#include "plan/slabs.hpp"

#include <algorithm>

namespace pb::plan {

namespace {

Range core_in_window(const AxisTile& tile) { return {tile.core.begin - tile.start, tile.core.end - tile.start}; }

/// The cores along an axis, each once.
std::vector<Range> cores_of(const std::vector<AxisTile>& tiles) {
    std::vector<Range> cores;
    for (const AxisTile& tile : tiles) {
        const Range core = core_in_window(tile);
        const bool is_known = !cores.empty() && cores.back() == core;
        if (!is_known && std::ranges::find(cores, core) == cores.end()) cores.push_back(core);
    }
    return cores;
}

network::WindowCrop make_crop(const Point& point, const TileGrid& grid) {
    return {point.graph(), grid.window(), cores_of(grid.rows()), cores_of(grid.columns())};
}

}  // namespace

bool is_cropped(const Point& point) {
    const config::PointSettings& settings = point.settings;
    return settings.engine == EngineKind::native && settings.workload == config::Workload::tiles && point.halo &&
           !is_in_bands(point) && settings.network.has_layers();
}

network::WindowCrop window_crop(const Point& point) { return make_crop(point, tile_grid(point)); }

CroppedPixels::CroppedPixels(const Point& point) {
    const TileGrid grid = tile_grid(point);
    const network::WindowCrop crop = make_crop(point, grid);
    rows_ = runs_of(grid.rows());
    columns_ = runs_of(grid.columns());
    num_columns_ = std::ssize(grid.columns());
    num_windows_ = grid.num_windows();
    for (const Run& row : rows_) {
        std::vector<double>& pixels = pixels_.emplace_back();
        for (const Run& column : columns_)
            pixels.push_back(crop.macs(rect_of(row.core, column.core)) / point.facts().mac_per_pixel);
    }
}

std::vector<CroppedPixels::Run> CroppedPixels::runs_of(const std::vector<AxisTile>& tiles) {
    std::vector<Run> runs;
    for (const AxisTile& tile : tiles) {
        const Range core = core_in_window(tile);
        if (runs.empty() || runs.back().core != core) runs.push_back({core, 0});
        ++runs.back().count;
    }
    return runs;
}

double CroppedPixels::in_row(size_t row_run, int64_t columns) const {
    double pixels = 0;
    for (size_t i = 0; i < columns_.size() && columns > 0; ++i) {
        pixels += static_cast<double>(std::min(columns, columns_[i].count)) * pixels_[row_run][i];
        columns -= columns_[i].count;
    }
    return pixels;
}

double CroppedPixels::before(int64_t window) const {
    int64_t rows = window / num_columns_;
    double pixels = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
        pixels += static_cast<double>(std::min(rows, rows_[i].count)) * in_row(i, num_columns_);
        if (rows < rows_[i].count) return pixels + in_row(i, window % num_columns_);
        rows -= rows_[i].count;
    }
    return pixels;
}

}  // namespace pb::plan
