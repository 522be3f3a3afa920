#include "plan/cropping.hpp"

#include "plan/rows.hpp"

#include <algorithm>
#include <utility>

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

/// How the point's engine computes cropped windows; none where it computes all of them.
std::optional<network::CropEngine> crop_engine(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.engine == EngineKind::native) return network::CropEngine{};
    if (settings.engine != EngineKind::torch) return std::nullopt;
    const bool is_cuda = point.device == DeviceKind::cuda;
    if (!is_cuda && settings.layout != Layout::channels_last) return std::nullopt;  // oneDNN copies other maps
    if (is_cuda && (settings.cuda_graph || settings.fusion == FusionKind::on)) return std::nullopt;
    network::CropEngine torch{network::ComputedUnit::pixel, is_cuda ? network::kCudnnPiecesPath : network::kOnednnPath};
    torch.path.value_bytes = static_cast<int64_t>(size_of(storage_of(settings.dtype)));
    return torch;
}

network::WindowCrop make_crop(const Point& point, const TileGrid& grid) {
    return {point.graph(), grid.window(), cores_of(grid.rows()), cores_of(grid.columns()), crop_engine(point).value()};
}

/// Dense FLOP a second of an H100 (SXM) by its data sheet, which no convolution reaches.
double peak_flops(Precision precision) {
    switch (precision) {
        case Precision::fp32: return 67e12;
        case Precision::tf32: return 495e12;
        default: return 990e12;
    }
}

/// The core along an axis of a window within the image; all of an axis that has one window.
Range inner_core(const Point& point, int64_t window) {
    const int64_t patch = point.settings.patch, halo = *point.halo;
    return window < patch + 2 * halo ? Range{0, window} : Range{halo, halo + patch};
}

/// Note [Cropped windows on CUDA]. The same for all images that share batches: they have windows of one extent.
bool gains_on_cuda(const Point& point) {
    constexpr double kBytesPerS = 3.35e12;  // of an H100
    constexpr double kLaunchS = 5e-6;       // of a step
    const Extent window = tile_grid(point).window();
    const Range rows = inner_core(point, window.h), columns = inner_core(point, window.w);
    const network::WindowCrop crop(point.graph(), window, {rows}, {columns}, crop_engine(point).value());
    const Rect core = rect_of(rows, columns);
    const double whole = point.facts().mac_per_pixel * static_cast<double>(window.pixels());
    const double saved_s = 2 * (whole - crop.macs(core)) / peak_flops(point.settings.dtype);
    const double copies_s = 2 * static_cast<double>(crop.copied_bytes(core)) / kBytesPerS;  // read and written
    return saved_s > copies_s + kLaunchS * static_cast<double>(crop.memory().steps.size());
}

/// The most windows that a batch holds side by side, by their core.
using AlikeCounts = std::vector<std::pair<Rect, int64_t>>;

void count_alike(const Range& run, int64_t windows, const TileGrid& grid, AlikeCounts& counts) {
    std::vector<Rect> cores(static_cast<size_t>(windows));
    for (int64_t place = 0; place < windows; ++place)
        cores[static_cast<size_t>(place)] = grid.tile(std::min(run.begin + place, run.end - 1)).core_in_window();
    for (Range alike; alike.end < windows;) {
        alike = network::alike_from(alike.end, cores);
        const Rect& core = cores[static_cast<size_t>(alike.begin)];
        const int64_t side_by_side = alike.size();
        const auto known = std::ranges::find(counts, core, &AlikeCounts::value_type::first);
        if (known == counts.end())
            counts.emplace_back(core, side_by_side);
        else
            known->second = std::max(known->second, side_by_side);
    }
}

}  // namespace

bool is_cropped(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const bool can_be = crop_engine(point) && settings.workload == config::Workload::tiles && point.halo &&
                        !is_in_bands(point) && settings.network.has_layers();
    const bool is_on_cuda = settings.engine == EngineKind::torch && point.device == DeviceKind::cuda;
    return can_be && (!is_on_cuda || gains_on_cuda(point));
}

network::WindowCrop window_crop(const Point& point) { return make_crop(point, tile_grid(point)); }

int64_t most_bytes_of_pieces(const Point& point, int64_t batch) {
    constexpr int64_t kMostCounted = 100'000;  // of more windows a whole batch is taken to be alike
    const TileGrid grid = tile_grid(point);
    const network::WindowCrop crop = make_crop(point, grid);
    if (grid.num_windows() > kMostCounted) return crop.peak_bytes(batch);
    const bool is_shared = point.settings.schedule == config::Schedule::dynamic;
    const bool pads = point.settings.last_batch == config::LastBatch::pad;
    AlikeCounts counts;
    for (int rank = 0; rank < (is_shared ? 1 : point.num_ranks); ++rank)
        for (const Range& run : cut_batches(windows_of_rank(point, grid, rank), batch))
            count_alike(run, pads ? batch : run.size(), grid, counts);
    int64_t most = 0;
    for (const auto& [core, alike] : counts) most = std::max(most, crop.peak_bytes(core, alike));
    return most;
}

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
