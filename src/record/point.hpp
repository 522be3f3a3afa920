// The raw measurements of one point: the only output of `run` and the only input of `measure` and `report`. Values
// only. To add a raw value, add a member here or in rank.hpp and its line in `fields`; MPI, results.jsonl, --resume and
// the schema follow.
#pragma once

#include "base/statistics.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "record/fields.hpp"
#include "record/rank.hpp"
#include "record/verification.hpp"

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pb::record {

enum class PointStatus : uint8_t { ok, oom, index_limit, failed, skipped, interrupted, refused };

/// Whether time or a signal ended a point before it had a figure: `--resume` measures it.
constexpr bool is_cut_short(PointStatus status) {
    return status == PointStatus::skipped || status == PointStatus::interrupted;
}

/// The reason why a search for the largest batch ended.
enum class BatchLimit : uint8_t { memory, windows, index };

/// The search of `batch: largest`. Tries in order: doublings until one does not fit, bisection, the answer once more.
struct BatchSearch {
    struct Try {
        int64_t batch = 1;
        bool fits = false;
        int64_t peak_bytes = 0;  // peak of the engine's allocator, maximum over ranks; 0 where it did not fit
    };
    std::vector<Try> tries;
    int64_t found = 0;  // 0: not even one window fits
    BatchLimit limited_by = BatchLimit::memory;
};

template <class V, Like<BatchSearch::Try> T>
void fields(V& v, T& tried) {
    v("batch", whole(tried.batch, 1));
    v("fits", tried.fits);
    v("peak_mib", mib(tried.peak_bytes));
}

template <class V, Like<BatchSearch> S>
void fields(V& v, S& search) {
    v("largest_batch", whole(search.found), "0: nothing fits");
    v("limited_by", search.limited_by);
    v("tries", search.tries, "in order: doublings until one does not fit, bisection, the answer once more");
}

/// Pictures of a part of the image for the report: PNG files, named relative to the folder of the results.
struct Preview {
    Rect part;
    std::string noisy_file, denoised_file;
    std::string clean_file;  // empty: the clean image is unknown
};

template <class V, Like<Preview> P>
void fields(V& v, P& preview) {
    part_fields(v, preview.part);
    v("noisy_file", preview.noisy_file);
    v("denoised_file", preview.denoised_file);
    v("clean_file", or_null(preview.clean_file));
}

inline const char* complete(Preview& preview) {
    return is_part_of_an_image(preview.part) ? nullptr : "no part of an image";
}

/// The transfer of the output from other nodes to the root, and the speed of their link.
struct ExchangeRecord {
    std::string carrier;                     // "MPI"
    int64_t bytes = 0;                       // bytes of a pass; schedule dynamic: of the last repetition
    std::optional<double> link_bytes_per_s;  // in one direction between the root and another node; none: not measured
    std::optional<double> link_latency_s;    // latency of a message of one byte
};

template <class V, Like<ExchangeRecord> E>
void fields(V& v, E& exchange) {
    v("carrier", exchange.carrier, "MPI or NCCL");
    v("bytes", whole(exchange.bytes), "in a pass");
    v("link_bytes_per_s", positive_amount(exchange.link_bytes_per_s));
    v("link_latency_s", positive_amount(exchange.link_latency_s));
}

/// A measurement that was discarded because its repetitions drifted; the point was measured again.
struct DiscardedMeasurement {
    int64_t repetitions = 0;
    double pipeline_s = 0;  // median
    double drift = 0;       // last third / first third - 1
    std::string cause;      // disturbances that the kernels reported meanwhile (disturbance_of); empty: none
};

template <class V, Like<DiscardedMeasurement> D>
void fields(V& v, D& discarded) {
    v("repetitions", whole(discarded.repetitions, 1));
    v("pipeline_s", positive_amount(discarded.pipeline_s));
    v("drift", discarded.drift, "last third / first third - 1");
    v("cause", or_null(discarded.cause), "what the kernels of the hosts told meanwhile");
}

template <class V, Like<plan::Prediction> P>
void fields(V& v, P& prediction) {
    v("pixels_per_forward", whole(prediction.pixels_per_forward));
    v("peak_mib", prediction.peak_mib);
    v("flop", prediction.flop);
    v("flop_busiest_rank", prediction.flop_busiest_rank);
}

/// The values that the plan, and trials before the measurement, settled. The settings themselves are separate.
template <class V, Like<plan::Point> P>
void settled_fields(V& v, P& point) {
    v("device", point.device);
    v("num_ranks", count(point.num_ranks, 1));
    v("halo_px", count(point.halo));
    v("band_rows", count(point.band_rows, 1), "of carried rows, which halo carried has and halo auto may take");
    v("strip_columns", count(point.strip_columns, 1),
      "of carried rows where the whole width does not fit into memory: of a strip with its context");
    v("exchanges_rows", later(point.exchanges_rows), "as halo exchanged does and halo auto may");
    v("batch", count(point.batch, 1));
    v("winograd_tile", count(point.winograd_tile, 1),
      "of engine native, where memory_limit_mib asks for a smaller one than 4");
    v("sigma", when(point.uses_sigma, point.sigma));
    v("image_height_px", count(point.source.extent.h, 1));
    v("image_width_px", count(point.source.extent.w, 1));
    v("image_channels", count(point.source.channels, 1));
}

struct PointTrace {
    plan::Point point;
    std::optional<plan::Prediction> prediction;
    PointStatus status = PointStatus::ok;
    std::string reason;          // empty for status ok
    std::string reduction;       // "NCCL" | "MPI": how the figures of the ranks were gathered
    bool shared_device = false;  // two ranks share a GPU
    std::string binding;         // cores of the ranks of this point (binding_of)
    std::vector<double> wall_s;  // per repetition: maximum over ranks, including the exchange to the root
    StopReason stop_reason = StopReason::none;    // why the repetitions ended; the summary of the line names it
    std::vector<DiscardedMeasurement> discarded;  // earlier measurements, in order; all samples are from the last one
    double repeated_s = 0;  // the timed repetitions and what lies between, without forward calls alone; root
    double read_s = 0;      // reading the image once before the repetitions: maximum over ranks
    double noise_s = 0;
    double load_s = 0;        // making the engine: its process where it has one, and the network; maximum over ranks
    double prepare_s = 0;     // buffers, and what the engine does before the first pass; maximum over ranks
    double first_pass_s = 0;  // the first pass of all, a warm-up one where there is one
    double write_s = 0;       // writing the output file once after them; 0 without a file
    std::vector<RankTrace> ranks;
    std::optional<ExchangeRecord> exchange;  // none: one node, or the output of each rank stays there
    Verification verification;
    std::optional<Quality> quality;
    std::optional<Preview> preview;           // only for the first point of a network, if requested
    std::optional<BatchSearch> batch_search;  // only for points with batch: largest
    std::optional<Profile> profile;           // only where the setting `profile` asks for it and the engine has layers
    std::string weights_source, weights_layout, weights_sha256;
    std::string engine_sha256;       // of the file of engine python; empty: it has none
    std::string network_sha256;      // of the tensors of a network that is code; empty: it is none
    std::string image_sha256;        // digest of the file; empty for a scene
    std::string clean_sha256;        // of the file of image.clean; empty: there is none
    DType sample_type = DType::f32;  // type of the samples that are copied between host and device
    std::string output_file;         // empty: no file
    std::string lost_metadata;       // the input's metadata that output_file lacks, in words; empty: none
    double useful_pixels = 0;        // per repetition, summed over ranks
    double processed_pixels = 0;
    double computed_pixels = 0;  // of which each layer computes all, with the same arithmetic; 0: an older file
    double input_pixels = 0;     // that are cut from the image; 0: an older file
    int64_t num_patches = 0;
};

/// CPU time that other processes and the hypervisor took on a host, as a multiple of that of the ranks on it; the
/// largest over hosts. 0 where something waited for a core less than half of the time (then the ranks had what they
/// asked for), in less than a second, where a count is not known, and where no CPU computes: on GPUs and simulated
/// devices.
[[nodiscard]] double crowding_of(const PointTrace& trace);

/// CPU time of a rank's process by the time of its forward calls: of each repetition the least over ranks, 1 at most,
/// and of these the median, since the figures are medians. Below 1 a rank waited for a core: a limit of its container,
/// cores that ranks share, other work. None where no CPU computes, where an adapter of the user may compute elsewhere,
/// in less than `least_s` of calls, and where a time is not known.
[[nodiscard]] std::optional<double> core_share_of(const PointTrace& trace, double least_s = 1);

/// Processed pixels by their arithmetic.
[[nodiscard]] inline double computed_pixels(const PointTrace& trace) {
    return trace.computed_pixels > 0 ? trace.computed_pixels : trace.processed_pixels;
}

[[nodiscard]] inline double input_pixels(const PointTrace& trace) {
    return trace.input_pixels > 0 ? trace.input_pixels : trace.processed_pixels;
}

/// How often the point was measured. 0 means that no measurement was completed.
[[nodiscard]] inline int64_t num_measurements(const PointTrace& trace) {
    return trace.wall_s.empty() ? 0 : 1 + std::ssize(trace.discarded);
}

/// All fields except the point and its stop reason.
template <class V, Like<PointTrace> T>
void fields(V& v, T& trace) {
    v("status", trace.status);
    v("reason", or_null(trace.reason));
    v.group("work", [&](auto& work) {
        work("path", derived([&] { return plan::path_of(trace.point); }),
             "how the image went through the network; null where it could not");
        work("num_patches", whole(trace.num_patches));
        work("sample_type", later(trace.sample_type));
        work("useful_pixels", trace.useful_pixels);
        work("processed_pixels", trace.processed_pixels);
        work(
            "computed_pixels", later(trace.computed_pixels),
            "processed pixels with the same arithmetic: less of them where windows are cropped to what the core needs");
        work("input_pixels", later(trace.input_pixels), "pixels that are cut from the image: of windows, or of rows");
    });
    v("prediction", trace.prediction);
    v("reduction", or_null(trace.reduction), "NCCL or MPI");
    v("shared_device", trace.shared_device);
    v("binding", or_null(trace.binding), "cores of the ranks that took part; null where no rank began");
    v.group("weights", [&](auto& weights) {
        weights("source", or_null(trace.weights_source));
        weights("layout", or_null(trace.weights_layout));
        weights("sha256", sha256_text(trace.weights_sha256));
    });
    v("engine_sha256", later(trace.engine_sha256), "of the file of engine python; empty: it has none");
    v("network_sha256", later(trace.network_sha256), "of the tensors of a network that is code; empty: it is none");
    v("image_sha256", sha256_text(trace.image_sha256));
    v("clean_sha256", later(trace.clean_sha256), "of the file of image.clean; empty: there is none");
    v("measurements", derived([&] { return num_measurements(trace); }),
      "how often the point was measured; all samples are those of the last time");
    v("discarded", later(trace.discarded), "the earlier times, whose repetitions drifted (setting remeasure)");
    v("output_file", or_null(trace.output_file));
    v.group("samples", [&](auto& samples) {
        samples("wall_s", trace.wall_s, "one number a timed repetition");
        samples("repeated_s", or_null(trace.repeated_s),
                "all timed repetitions and what lies between them but for forward calls alone, on the root");
        samples("read_s", or_null(trace.read_s));
        samples("noise_s", or_null(trace.noise_s));
        samples("load_s", or_null(trace.load_s), "starting the engine with the network, once a point");
        samples("prepare_s", or_null(trace.prepare_s),
                "buffers and what the engine does before the first pass: compiling, a first call; once a point");
        samples("first_pass_s", or_null(trace.first_pass_s), "the first pass of all, a warm-up one where there is one");
        samples("write_s", or_null(trace.write_s));
        samples("ranks", trace.ranks);
    });
    v("memory", by_rank(trace.ranks, &RankTrace::memory));
    v("verification", trace.verification);
    v("quality", trace.quality);
    v("preview", trace.preview,
      "pictures of a part of the image; file names are relative to the folder of the results");
    v("batch_search", trace.batch_search, "how batch: largest was found");
    v("profile", trace.profile, "where the time of a forward call goes (setting profile)");
    v("telemetry", by_rank(trace.ranks, &RankTrace::telemetry));
    v("bounds", by_rank(trace.ranks, &RankTrace::bounds),
      "what a rank's device and host reach at best, measured once a precision in the same session");
    v("exchange", trace.exchange, "output of other nodes' ranks to the root; null where nothing had to be exchanged");
}

}  // namespace pb::record
