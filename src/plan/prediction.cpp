#include "plan/prediction.hpp"

#include "config/sample_settings.hpp"
#include "network/graph_facts.hpp"
#include "network/native_layout.hpp"
#include "plan/cropping.hpp"
#include "plan/memory_limit.hpp"
#include "plan/rows.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace pb::plan {

namespace {

struct Sums {
    double busiest_rank = 0, all_ranks = 0;
};

/// Pixels that the network processes in one repetition, and those that it computes.
struct Work {
    int64_t pixels_per_forward = 0;
    double processed = 0;
    Sums computed;
};

Work carried_work(const Point& point) {
    const BandPixels pixels = band_pixels(point);
    return {tile_grid(point).window().pixels(), pixels.all_ranks, {pixels.busiest_rank, pixels.all_ranks}};
}

/// Every pixel once.
Work exchanged_work(const Point& point) {
    const TileGrid grid = tile_grid(point);
    const auto busiest = static_cast<double>(slab_rows(point).end * grid.padded().w);
    const auto all = static_cast<double>(grid.padded().pixels());
    return {grid.window().pixels(), all, {busiest, all}};
}

/// The arithmetic of runs of windows, in pixels.
using PixelsOf = std::function<double(Range)>;

/// The last window of a batch is repeated where the batch is padded.
double with_padding(const Point& point, const Range& windows, const PixelsOf& pixels_of) {
    const bool pads = point.settings.last_batch == config::LastBatch::pad;
    const int64_t repeated = pads ? round_up(windows.size(), *point.batch) - windows.size() : 0;
    const double pixels = pixels_of(windows);
    return repeated == 0 ? pixels : pixels + static_cast<double>(repeated) * pixels_of({windows.end - 1, windows.end});
}

/// With schedule dynamic, of equally fast ranks.
Sums sums_over_ranks(const Point& point, const TileGrid& grid, const PixelsOf& pixels_of) {
    const int64_t windows = grid.num_windows(), batch = *point.batch;
    if (point.settings.schedule == config::Schedule::dynamic) {
        const double all = with_padding(point, {0, windows}, pixels_of);
        const int64_t batches = ceil_div(windows, batch);
        const int64_t most = std::min(ceil_div(batches, point.num_ranks) * batch, windows);
        const PixelsOf count = [](const Range& run) { return static_cast<double>(run.size()); };
        const double share = with_padding(point, {0, most}, count) / with_padding(point, {0, windows}, count);
        return {share * all, all};
    }
    double busiest = 0, all = 0;
    for (int rank = 0; rank < point.num_ranks; ++rank) {
        const double pixels = with_padding(point, windows_of_rank(point, grid, rank), pixels_of);
        busiest = std::max(busiest, pixels);
        all += pixels;
    }
    return {busiest, all};
}

Sums cropped_sums(const Point& point, const TileGrid& grid) {
    const CroppedPixels cropped(point);
    return sums_over_ranks(point, grid, [&](const Range& windows) { return cropped.of(windows); });
}

Work tiles_work(const Point& point) {
    if (is_carried(point)) return carried_work(point);
    if (is_exchanged(point)) return exchanged_work(point);
    const TileGrid grid = tile_grid(point);
    const int64_t window_pixels = grid.window().pixels();
    const Sums whole = sums_over_ranks(point, grid, [&](const Range& windows) {
        return static_cast<double>(windows.size()) * static_cast<double>(window_pixels);
    });
    return {*point.batch * window_pixels, whole.all_ranks, is_cropped(point) ? cropped_sums(point, grid) : whole};
}

double peak_in_bands(double weights, const Point& point) {
    const BytesInRows bytes = is_exchanged(point) ? slab_bytes(point) : band_bytes(point);
    return weights + static_cast<double>(bytes.all());
}

double peak_in_pieces(const PeakParts& parts, const Point& point) {
    const int64_t batch = point.batch.value();
    const auto pixels = static_cast<double>(batch * tile_grid(point).window().pixels());
    const double in_out = static_cast<double>(batches_in_flight(point)) * pixels * parts.in_out_per_pixel;
    return parts.weights + in_out + static_cast<double>(most_bytes_of_pieces(point, batch));
}

Work whole_work(const Point& point) {
    const config::PointSettings& settings = point.settings;
    Work work;
    for (const auto& call : whole_image_calls(point.facts(), point.source.extent, settings.odd_shape)) {
        const int64_t pixels = call.window.extent.pixels();
        work.pixels_per_forward = std::max(work.pixels_per_forward, pixels);
        work.computed.busiest_rank += static_cast<double>(pixels);
    }
    work.processed = work.computed.busiest_rank * (settings.replicate ? point.num_ranks : 1);
    work.computed.all_ranks = work.processed;
    return work;
}

Work work_of(const Point& point) {
    return point.settings.workload == config::Workload::whole ? whole_work(point) : tiles_work(point);
}

/// How the point's engine allocates the maps between layers.
network::MemoryPath memory_path(const Point& point) {
    if (point.settings.engine == EngineKind::native) return network::kNativePath;
    network::MemoryPath path = network::kOnednnPath;
    if (point.device == DeviceKind::cuda) path = is_fused(point) ? network::kFusedCudnnPath : network::kCudnnPath;
    path.value_bytes = static_cast<int64_t>(size_of(storage_of(point.settings.dtype)));
    return path;
}

/// oneDNN reorders contiguous maps: it copies the input and the output of a layer, in blocks of 8 channels (measured
/// with the counting allocator for widths of 8 to 160).
double reordered_bytes_per_pixel(const network::Graph& graph) {
    constexpr int64_t kBlock = 8;
    return 2 * sizeof(float) * static_cast<double>(round_up(network::widths_in(graph).front(), kBlock));
}

/// The engine native: its weights as they are packed, its arena, and the scratch memory of its threads.
void set_native(PeakParts& parts, const Point& point) {
    const network::Graph graph = point.graph();
    parts.weights = static_cast<double>(weight_bytes(point));
    parts.arena = network::plan_memory(graph, network::kNativePath);
    parts.scratch_bytes = scratch_bytes(point);
    for (network::MemorySize& size : parts.forward) size.fixed_bytes += parts.scratch_bytes;
}

/// Of one repetition.
double useful_pixels(const Point& point) {
    const double copies = point.settings.replicate ? point.num_ranks : 1;
    return copies * static_cast<double>(point.source.extent.pixels());
}

}  // namespace

int64_t sample_bytes(const Point& point) {
    const config::ImageSettings& image = point.settings.image;
    const DType stored = point.source.dtype;
    const bool is_kept = stored == DType::u8 || stored == DType::u16 || stored == DType::f32;  // others become f32
    const bool has_nodata = config::parse_nodata(image.nodata).kind == config::NodataChoice::Kind::value;
    const bool is_made = image.noise_sigma > 0 || !image.range.empty() || has_nodata || !is_kept;
    return static_cast<int64_t>(size_of(is_made ? DType::f32 : stored));
}

double bytes_to_root(const Point& point, const Topology& topology) {
    const config::PointSettings& settings = point.settings;
    const bool stays = settings.output == config::OutputKind::file || settings.output == config::OutputKind::checksum;
    if (settings.workload == config::Workload::whole || stays) return 0;
    const bool is_shared = settings.schedule == config::Schedule::dynamic;
    const TileGrid grid = tile_grid(point);
    const std::vector<int> members = members_of(topology, point.num_ranks, settings.placement);
    double pixels = 0;
    for (int rank = 0; rank < point.num_ranks; ++rank) {
        if (topology.place_of(members[static_cast<size_t>(rank)]).node == topology.place_of(members.front()).node)
            continue;
        if (is_shared) {
            pixels += static_cast<double>(point.source.extent.pixels()) / point.num_ranks;
            continue;
        }
        const Range windows = windows_of_rank(point, grid, rank);
        for (int64_t index = windows.begin; index < windows.end; ++index)
            pixels += static_cast<double>(grid.tile(index).core.extent.pixels());
    }
    return pixels * static_cast<double>(point.source.channels * sample_bytes(point));
}

PeakParts peak_parts(const Point& point) {
    const config::PointSettings& settings = point.settings;
    const SourceFacts& source = point.source;
    const network::NetworkFacts& facts = point.facts();
    const bool is_cuda = point.device == DeviceKind::cuda;
    const network::MemoryPath path = memory_path(point);
    const network::Graph graph = point.graph();
    std::vector<network::MemorySize> forward = network::peak_sizes(network::plan_memory(graph, path));
    if (!is_cuda && settings.layout == Layout::contiguous)
        forward.front().bytes_per_pixel += reordered_bytes_per_pixel(graph);
    const auto value_bytes = static_cast<double>(path.value_bytes);
    const double values = value_bytes * static_cast<double>(2 * source.channels + (facts.takes_sigma ? 1 : 0));
    const auto samples = static_cast<double>(2 * source.channels * sample_bytes(point));
    PeakParts parts{.weights = value_bytes * static_cast<double>(facts.parameters),
                    .in_out_per_pixel = values + (is_cuda ? samples : 0),
                    .forward = std::move(forward)};
    if (settings.engine == EngineKind::native) set_native(parts, point);
    if (is_cropped(point)) parts.crop = window_crop(point);
    return parts;
}

double PeakParts::peak(int64_t pixels, int64_t slots) const {
    const auto all_pixels = static_cast<double>(pixels);
    double largest = 0;
    for (const auto& [per_pixel, fixed] : forward)
        largest = std::max(largest, per_pixel * all_pixels + static_cast<double>(fixed));
    if (crop) {
        const int64_t windows = pixels / crop->window().pixels();
        largest = static_cast<double>(crop->peak_bytes(windows) + scratch_bytes);
    } else if (arena) {
        largest = static_cast<double>(network::place_blocks(*arena, pixels).bytes + scratch_bytes);
    }
    return weights + static_cast<double>(slots) * all_pixels * in_out_per_pixel + largest;
}

// CPU ranks run their stages inline, and a whole image is one batch at a time.
int64_t batches_in_flight(const Point& point) {
    const config::PointSettings& settings = point.settings;
    if (settings.workload == config::Workload::whole || point.device == DeviceKind::cpu) return 1;
    if (!point.halo || !point.batch) return settings.slots;
    const Range most = windows_of_rank(point, tile_grid(point), point.num_ranks - 1);  // no share is larger
    return std::clamp<int64_t>(ceil_div(most.size(), *point.batch), 1, settings.slots);
}

int64_t calls_of_busiest_rank(const Point& point) {
    if (point.settings.workload == config::Workload::whole)
        return std::ssize(whole_image_calls(point.facts(), point.source.extent, point.settings.odd_shape));
    if (is_exchanged(point)) return 1;
    const TileGrid grid = tile_grid(point);
    if (point.settings.schedule == config::Schedule::dynamic)
        return ceil_div(ceil_div(grid.num_windows(), *point.batch), point.num_ranks);
    int64_t most = 0;
    for (int rank = 0; rank < point.num_ranks; ++rank) most = std::max(most, windows_of_rank(point, grid, rank).size());
    return ceil_div(most, *point.batch);
}

double processed_pixels(const Point& point) { return work_of(point).processed; }

double input_pixels(const Point& point) {
    if (!is_in_bands(point)) return processed_pixels(point);
    const TileGrid grid = tile_grid(point);
    int64_t rows = is_carried(point) ? band_pixels(point).input_rows : 0;
    if (is_exchanged(point))
        for (int rank = 0; rank < num_slabs(point); ++rank) rows += slab_of_rank(point, rank).value().held(0).size();
    return static_cast<double>(rows * std::ssize(grid.columns()) * grid.window().w);
}

double computed_pixels(const Point& point) { return work_of(point).computed.all_ranks; }

double processed_per_useful(const Point& point) {
    if (!point.batch && point.settings.workload == config::Workload::tiles)
        return static_cast<double>(tile_grid(point).processed_pixels()) /
               static_cast<double>(point.source.extent.pixels());
    return processed_pixels(point) / useful_pixels(point);
}

double computed_per_useful(const Point& point) {
    if (point.batch) return computed_pixels(point) / useful_pixels(point);
    if (!is_cropped(point)) return processed_per_useful(point);
    return CroppedPixels(point).of_all() / static_cast<double>(point.source.extent.pixels());
}

std::optional<Prediction> predict(const Point& point) {
    if (!point.refusal.empty() || !point.halo || !point.batch || !point.settings.network.has_layers())
        return std::nullopt;
    const Work work = work_of(point);
    const double flop_per_pixel = 2.0 * point.facts().mac_per_pixel;
    const PeakParts parts = peak_parts(point);
    double peak = 0;
    if (is_in_bands(point))
        peak = peak_in_bands(parts.weights, point);
    else if (is_cropped(point) && point.settings.engine == EngineKind::torch)
        peak = peak_in_pieces(parts, point);
    else
        peak = parts.peak(work.pixels_per_forward, batches_in_flight(point));
    return Prediction{.pixels_per_forward = work.pixels_per_forward,
                      .peak_mib = has_own_process(point.settings.engine) ? 0 : peak / kMiB,
                      .flop = flop_per_pixel * work.computed.all_ranks,
                      .flop_busiest_rank = flop_per_pixel * work.computed.busiest_rank};
}

}  // namespace pb::plan
