#include "measure/roofline.hpp"

#include "base/engine_support.hpp"
#include "base/mapped.hpp"
#include "network/native_layout.hpp"
#include "plan/memory_limit.hpp"
#include "plan/rows.hpp"

#include <algorithm>

namespace pb::measure {

namespace {

constexpr double kGigaPerTera = 1e3;

/// Lowers `least` to `value`, if there is a value.
void lower(std::optional<double>& least, const std::optional<double>& value) {
    if (value) least = least ? std::min(*least, *value) : *value;
}

/// Collects the least bounds of the points added so far.
struct LeastBounds {
    std::optional<double> matmul, conv, copy;

    void add(const record::BoundsRecord& bounds) {
        lower(matmul, bounds[record::Bound::matmul_tflops]);
        lower(conv, bounds[record::Bound::conv_tflops]);
        lower(copy, bounds[record::Bound::device_copy_gb_per_s]);
    }
};

std::optional<Roof> roof_of(const std::optional<double>& tflops, double copy_gb_per_s) {
    return tflops ? std::optional(Roof{*tflops, *tflops * kGigaPerTera / copy_gb_per_s}) : std::nullopt;
}

bool is_bounded(const Summary& summary) {
    const auto copy = summary.bounds[record::Bound::device_copy_gb_per_s];
    return summary.pipeline_s && summary.forward_tflops.value_or(0) > 0 && summary.executed_tflops && copy && *copy > 0;
}

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

/// FLOP that the engine executes: native multiplies less by Winograd's method, whose transforms are left out.
double executed_flop_per_pixel(const plan::Point& point) {
    if (point.settings.engine != EngineKind::native) return flop_per_pixel(point);
    return network::native_flop_per_pixel(point.graph(), plan::winograd_form(point));
}

/// Bytes of every value that is read or written once, in the precision of its storage.
double bytes_per_pixel(const plan::Point& point) {
    return point.facts().values_per_pixel *
           static_cast<double>(size_of(storage_of(point.settings.engine, point.settings.dtype)));
}

/// Divides the work of all ranks by the sum of their seconds: the rate of one rank while it works.
std::optional<double> rate_of(double work, double seconds, double unit) {
    return work > 0 && seconds > 0 ? std::optional(work / seconds / unit) : std::nullopt;
}

bool has_work(const record::RankTrace& rank) { return rank.num_batches > 0; }

/// The least and the mean bound of the ranks that worked. Both are absent unless all of these ranks have it.
struct BoundOfRanks {
    std::optional<double> least, mean;
};

BoundOfRanks bound_of_ranks(const record::PointTrace& trace, record::Bound bound) {
    std::vector<double> rates;
    for (const auto& rank : trace.ranks) {
        if (!has_work(rank)) continue;
        if (!rank.bounds[bound]) return {};
        rates.push_back(*rank.bounds[bound]);
    }
    if (rates.empty()) return {};
    return {*std::min_element(rates.begin(), rates.end()), mean(rates)};
}

std::optional<double> percent_of(const record::PointTrace& trace, record::Bound bound,
                                 const std::optional<double>& rate) {
    const auto reachable = bound_of_ranks(trace, bound).mean;
    return rate && reachable && *reachable > 0 ? std::optional(100 * *rate / *reachable) : std::nullopt;
}

double summed_seconds(const record::PointTrace& trace, record::Stage stage) {
    double seconds = 0;
    for (const auto& rank : trace.ranks) {
        const auto samples = mapped(rank.stage_s, [&](const auto& repetition) { return repetition[stage]; });
        if (!samples.empty()) seconds += median(samples);
    }
    return seconds;
}

/// The seconds and the number of resident forward calls of all ranks in one pass. Absent when a rank did not measure
/// them.
struct ForwardCalls {
    double seconds = 0;
    double calls = 0;
};

std::optional<ForwardCalls> forward_calls(const record::PointTrace& trace) {
    ForwardCalls all;
    for (const auto& rank : trace.ranks) {
        if (!has_work(rank)) continue;
        if (rank.forward_call_s.empty()) return std::nullopt;
        const auto calls = static_cast<double>(rank.num_batches);
        all.seconds += calls * rank.work_per_call * median(rank.forward_call_s);
        all.calls += calls;
    }
    return all.calls > 0 && all.seconds > 0 ? std::optional(all) : std::nullopt;
}

void add_forward_bounds(const record::PointTrace& trace, Summary& summary) {
    const auto calls = forward_calls(trace);
    if (!calls) return;
    const auto& point = trace.point;
    const double pixels = record::computed_pixels(trace);
    const auto gb_per_s = rate_of(bytes_per_pixel(point) * pixels, calls->seconds, kGiga);
    summary.forward_tflops = rate_of(flop_per_pixel(point) * pixels, calls->seconds, kTera);
    summary.executed_tflops = rate_of(executed_flop_per_pixel(point) * pixels, calls->seconds, kTera);
    summary.forward_of_matmul_percent = percent_of(trace, record::Bound::matmul_tflops, summary.executed_tflops);
    summary.forward_of_conv_percent = percent_of(trace, record::Bound::conv_tflops, summary.executed_tflops);
    summary.forward_of_memory_percent = percent_of(trace, record::Bound::device_copy_gb_per_s, gb_per_s);
    constexpr double kMicrosecondsPerSecond = 1e6;
    summary.convolution_us =
        kMicrosecondsPerSecond * calls->seconds / calls->calls / static_cast<double>(point.facts().num_convolutions);
}

/// The pixels that go back: of whole windows, or of rows, of which each is the output's.
double returned_pixels(const record::PointTrace& trace) {
    return plan::is_in_bands(trace.point) ? trace.useful_pixels : trace.processed_pixels;
}

/// Returns the bytes that gather and scatter must read and write. On the CPU they also convert to the network's input
/// (with its sigma channel) and back. Windows for a GPU are copied unchanged.
double host_bytes(const record::PointTrace& trace) {
    const auto& point = trace.point;
    const auto channels = static_cast<double>(point.source.channels);
    const double sample = channels * static_cast<double>(size_of(trace.sample_type));
    if (point.device == DeviceKind::cuda) return 2 * sample * (record::input_pixels(trace) + trace.useful_pixels);
    const auto value = static_cast<double>(size_of(storage_of(point.settings.engine, point.settings.dtype)));
    const double sigma = point.facts().takes_sigma ? 1 : 0;
    return record::input_pixels(trace) * (sample + (channels + sigma) * value) +
           trace.useful_pixels * (channels * value + sample);
}

void add_copy_bounds(const record::PointTrace& trace, Summary& summary) {
    const double host_s = summed_seconds(trace, record::Stage::gather) + summed_seconds(trace, record::Stage::scatter);
    const auto pixel_bytes =
        static_cast<double>(trace.point.source.channels * static_cast<int64_t>(size_of(trace.sample_type)));
    const auto copies = [&](record::Stage stage, double pixels) {
        return rate_of(pixel_bytes * pixels, summed_seconds(trace, stage), kGiga);
    };
    const auto host = rate_of(host_bytes(trace), host_s, kGiga);
    summary.host_of_copy_percent = percent_of(trace, record::Bound::host_copy_gb_per_s, host);
    summary.h2d_of_bound_percent =
        percent_of(trace, record::Bound::h2d_gb_per_s, copies(record::Stage::h2d, record::input_pixels(trace)));
    summary.d2h_of_bound_percent =
        percent_of(trace, record::Bound::d2h_gb_per_s, copies(record::Stage::d2h, returned_pixels(trace)));
}

void add_exchange(const record::PointTrace& trace, Summary& summary) {
    if (!trace.exchange) return;
    const auto bytes = static_cast<double>(trace.exchange->bytes);
    const auto link = trace.exchange->link_bytes_per_s;
    summary.exchanged_mib = bytes / kMiB;
    // With `halo: exchanged` the rate is unknown: the stage holds the waiting for border rows, too.
    if (!plan::is_exchanged(trace.point))
        summary.exchange_gb_per_s = rate_of(bytes, summary.stage_s[record::Stage::exchange].value_or(0), kGiga);
    if (!link || *link <= 0) return;
    summary.link_gb_per_s = *link / kGiga;
    if (summary.exchange_gb_per_s) summary.exchange_of_link_percent = 100 * *summary.exchange_gb_per_s * kGiga / *link;
}

}  // namespace

double flop_per_pixel(const plan::Point& point) { return 2 * point.facts().mac_per_pixel; }

std::vector<Roofline> find_rooflines(const StudyPoints& points) {
    std::vector<Roofline> all;
    std::vector<LeastBounds> bounds;  // one for each roofline
    for (const auto& [trace, summary] : points) {
        if (!is_bounded(*summary)) continue;
        const plan::Point& point = trace->point;
        auto roofline = std::ranges::find_if(
            all, [&](const Roofline& one) { return one.device == point.device && one.dtype == point.settings.dtype; });
        const auto place = static_cast<size_t>(roofline - all.begin());
        if (roofline == all.end()) {
            all.push_back({point.device, point.settings.dtype, 0, {}, {}, {}});
            bounds.emplace_back();
        }
        all[place].points.push_back({.point = summary->index,
                                     .flop_per_byte = flop_per_pixel(point) / bytes_per_pixel(point),
                                     .executed_flop_per_byte = executed_flop_per_pixel(point) / bytes_per_pixel(point),
                                     .tflops = *summary->forward_tflops,
                                     .executed_tflops = *summary->executed_tflops});
        bounds[place].add(summary->bounds);
    }
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].copy_gb_per_s = bounds[i].copy.value();
        all[i].matmul = roof_of(bounds[i].matmul, all[i].copy_gb_per_s);
        all[i].conv = roof_of(bounds[i].conv, all[i].copy_gb_per_s);
    }
    return all;
}

void add_bounds(const record::PointTrace& trace, Summary& summary) {
    for (const auto& [bound, name] : enum_table<record::Bound>())
        summary.bounds[bound] = bound_of_ranks(trace, bound).least;
    add_forward_bounds(trace, summary);
    add_copy_bounds(trace, summary);
    add_exchange(trace, summary);
}

}  // namespace pb::measure
