#include "patchbench/plan/prediction.hpp"

#include <algorithm>

namespace pb {

namespace {

/// Pixels through the network in one repetition.
struct Work {
    int64_t pixels_per_forward = 0;
    double pixels_busiest_rank = 0;
    double pixels_all_ranks = 0;
};

Work tiles_work(const Point& point) {
    const TileGrid grid = tile_grid(point);
    const int64_t batch = *point.batch;
    const auto window_pixels = static_cast<double>(grid.window().pixels());
    Work work{batch * grid.window().pixels(), 0, 0};
    for (int rank = 0; rank < point.num_ranks; ++rank) {
        const int64_t share = windows_of_rank(point, grid, rank).size();
        const bool pads = point.settings.last_batch == LastBatch::pad;
        const double pixels = window_pixels * static_cast<double>(pads ? round_up(share, batch) : share);
        work.pixels_busiest_rank = std::max(work.pixels_busiest_rank, pixels);
        work.pixels_all_ranks += pixels;
    }
    return work;
}

Work whole_work(const Point& point) {
    const PointSettings& settings = point.settings;
    Work work;
    for (const auto& call : whole_image_calls(settings.network, point.source.extent, settings.odd_shape)) {
        const int64_t pixels = call.seen.extent.pixels();
        work.pixels_per_forward = std::max(work.pixels_per_forward, pixels);
        work.pixels_busiest_rank += static_cast<double>(pixels);
    }
    work.pixels_all_ranks = work.pixels_busiest_rank * (settings.replicate ? point.num_ranks : 1);
    return work;
}

}  // namespace

double predicted_peak_bytes(NetworkKind kind, Precision dtype, int64_t channels, int64_t pixels, int64_t slots) {
    const NetworkFacts& facts = network_facts(kind);
    const auto sample_bytes = static_cast<double>(size_of(storage_of(dtype)));
    const auto parameters = static_cast<double>(channels == 1 ? facts.parameters_gray : facts.parameters_colour);
    const double values_in_out = static_cast<double>(2 * channels + (facts.takes_sigma ? 1 : 0));
    const auto all_pixels = static_cast<double>(pixels);
    const auto values_at = [&](const MemoryMoment& moment) {
        return (static_cast<double>(moment.bytes_per_pixel) * all_pixels + static_cast<double>(moment.kernel_bytes)) /
               4;
    };
    return sample_bytes * (parameters + static_cast<double>(slots) * all_pixels * values_in_out +
                           std::max(values_at(facts.widest), values_at(facts.deepest)));
}

std::optional<Prediction> predict(const Point& point) {
    if (!point.refusal.empty() || !point.halo || !point.batch) return std::nullopt;
    const PointSettings& settings = point.settings;
    const bool is_whole = settings.workload == Workload::whole;
    const Work work = is_whole ? whole_work(point) : tiles_work(point);
    // CPU ranks run their stages inline, and a whole image is one batch at a time.
    const int64_t slots = is_whole || point.device == DeviceKind::cpu ? 1 : settings.slots;
    const double flop_per_pixel = 2.0 * static_cast<double>(mac_per_pixel(settings.network, point.source.channels));
    const double peak =
        predicted_peak_bytes(settings.network, settings.dtype, point.source.channels, work.pixels_per_forward, slots);
    return Prediction{.pixels_per_forward = work.pixels_per_forward,
                      .peak_mib = peak / kMiB,
                      .flop = flop_per_pixel * work.pixels_all_ranks,
                      .flop_busiest_rank = flop_per_pixel * work.pixels_busiest_rank};
}

}  // namespace pb
