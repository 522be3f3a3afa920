// What was measured, raw: the only thing that `run` hands on. Values only; `measure` and `report` read nothing else.
#pragma once

#include "base/bounds_record.hpp"
#include "base/stopping.hpp"
#include "base/telemetry_record.hpp"
#include "config/settings.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "plan/topology.hpp"

#include "patchbench/base/enum_names.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pb {

/// Parts of the work, in the order in which a pixel meets them.
enum class Stage : uint8_t { read, noise, gather, h2d, forward, d2h, scatter, exchange, write };
inline constexpr size_t kNumStages = 9;
using StageSeconds = std::array<double, kNumStages>;

template <>
struct EnumNames<Stage> {
    static constexpr std::array<std::pair<Stage, std::string_view>, kNumStages> names{{{Stage::read, "read"},
                                                                                       {Stage::noise, "noise"},
                                                                                       {Stage::gather, "gather"},
                                                                                       {Stage::h2d, "h2d"},
                                                                                       {Stage::forward, "forward"},
                                                                                       {Stage::d2h, "d2h"},
                                                                                       {Stage::scatter, "scatter"},
                                                                                       {Stage::exchange, "exchange"},
                                                                                       {Stage::write, "write"}}};
};

enum class PointStatus : uint8_t { ok, oom, index_limit, failed, skipped, interrupted, refused };

template <>
struct EnumNames<PointStatus> {
    static constexpr std::array<std::pair<PointStatus, std::string_view>, 7> names{
        {{PointStatus::ok, "ok"},
         {PointStatus::oom, "oom"},
         {PointStatus::index_limit, "index_limit"},
         {PointStatus::failed, "failed"},
         {PointStatus::skipped, "skipped"},
         {PointStatus::interrupted, "interrupted"},
         {PointStatus::refused, "refused"}}};
};

/// Memory of one rank over the timed repetitions of a point, in bytes.
struct RankMemory {
    int64_t allocated_peak = 0;  // engine allocator
    int64_t reserved_peak = 0;   // engine allocator
    int64_t device_used = 0;     // whole device, everything on it (CPU: 0, see host_peak)
    int64_t host_peak = 0;       // resident set of the process; 0: the kernel does not tell
};

/// One piece of a stage's work.
struct Span {
    Stage stage = Stage::gather;
    int64_t batch = 0;  // which of the rank's batches; -1: of none (exchange)
    double begin_s = 0;
    double end_s = 0;
};

/// What a rank did when, in one pass of a point. All ranks on one clock: 0 is when the first of them left the barrier.
struct Timeline {
    std::vector<Span> spans;   // the first ones; none: not recorded
    int64_t num_dropped = 0;   // later ones, beyond the setting `timeline`
    double clock_error_s = 0;  // how far this rank's clock may be off rank 0's; 0 on the same host
    bool is_timed = false;     // of the last timed repetition, else of the last warm-up
};

/// One rank's share of a point. Vectors have one entry a timed repetition.
struct RankTrace {
    int rank = 0;  // among all that were started
    std::string host;
    int64_t num_windows = 0;  // schedule dynamic: of the last repetition, as the next two
    int64_t num_patches = 0;
    int64_t num_batches = 0;
    std::vector<double> wall_s;          // barrier to own last pixel written (before the closing barrier)
    std::vector<StageSeconds> stage_s;   // device stages by events; may overlap, so they need not add up to wall_s
    std::vector<double> forward_call_s;  // resident batch, one entry a call
    std::vector<double> cpu_s;           // process CPU time
    int64_t allocations = 0;             // engine allocations inside the timed repetitions of a CUDA rank (0 is right)
    RankMemory memory;
    TelemetryRecord telemetry;
    BoundsRecord bounds;  // empty: not measured
    Timeline timeline;
};

/// Where, in a part of the image, the output differs from full context.
struct SeamRegion {
    Rect part;                   // in image coordinates
    int64_t cell_px = 1;         // edge of a cell
    std::vector<double> errors;  // largest difference in each cell, row by row; the last cells may be cut short
};

/// The output compared with independent computations, outside the timed region.
struct Verification {
    enum class Outcome : uint8_t { passed, failed, off };
    Outcome outcome = Outcome::off;
    std::vector<std::string> reasons;  // why it failed
    int64_t pixels_unwritten = 0;      // poison left
    int64_t pixels_not_finite = 0;
    double output_rounding = 0;          // by which the output's sample type changes a value at most, [0,1] units
    int64_t windows_checked = 0;         // rerun through the serial path: fp32, batch 1, contiguous
    std::optional<double> window_error;  // largest absolute difference, [0,1] units
    double window_tolerance = 0;
    std::optional<double> seam_error;       // against the whole image, or probe regions with full context
    bool seam_against_whole_image = false;  // else at seam probes
    bool seam_decides = false;              // true when the halo is exact: then beyond tolerance fails
    double seam_tolerance = 0;
    std::vector<SeamRegion> seam_map;  // what seam_error is the maximum of
};

/// What kept a search for the largest batch from going on.
enum class BatchLimit : uint8_t { memory, windows, index };

template <>
struct EnumNames<BatchLimit> {
    static constexpr std::array<std::pair<BatchLimit, std::string_view>, 3> names{
        {{BatchLimit::memory, "memory"}, {BatchLimit::windows, "windows"}, {BatchLimit::index, "index"}}};
};

/// How `batch: largest` was found. Tries in order: doublings until one does not fit, then bisection, then the answer
/// once more.
struct BatchSearch {
    struct Try {
        int64_t batch = 1;
        bool fits = false;
        int64_t peak_bytes = 0;  // engine allocator, maximum over ranks; 0 where it did not fit
    };
    std::vector<Try> tries;
    int64_t found = 0;  // 0: not even one window fits
    BatchLimit limited_by = BatchLimit::memory;
};

/// Quality against the clean image, where it is known.
struct Quality {
    double psnr_noisy_db = 0;
    double psnr_denoised_db = 0;
    double ssim_noisy = 0;
    double ssim_denoised = 0;
};

/// Pictures of a part of the image for the report: PNG files beside the results, by names relative to their folder.
struct Preview {
    Rect part;
    std::string noisy_file, denoised_file;
    std::string clean_file;  // empty: not known
};

/// How the output of other nodes came to the root, and what their link can do.
struct ExchangeRecord {
    std::string carrier;                     // "MPI"
    int64_t bytes = 0;                       // of a pass; schedule dynamic: of the last repetition
    std::optional<double> link_bytes_per_s;  // one way between the root and another node; none: not measured
    std::optional<double> link_latency_s;    // of a message of one byte
};

/// A measurement of a point that was not kept: its repetitions drifted, so the point was measured again.
struct DiscardedMeasurement {
    int64_t repetitions = 0;
    double pipeline_s = 0;  // median
    double drift = 0;       // last third / first third - 1
    std::string cause;      // what the kernels told meanwhile (disturbance_of); empty: nothing
};

struct PointTrace {
    Point point;
    std::optional<Prediction> prediction;
    PointStatus status = PointStatus::ok;
    std::string reason;                           // of any status but ok
    std::string reduction;                        // "NCCL" | "MPI": what gathered the per-rank figures
    bool shared_device = false;                   // two ranks on one GPU
    std::string binding;                          // cores of the ranks that took part (binding_of)
    std::vector<double> wall_s;                   // per repetition: maximum over ranks, exchange to the root included
    StopReason stop_reason = StopReason::none;    // what ended the repetitions
    std::vector<DiscardedMeasurement> discarded;  // earlier ones, in order: all samples are those of the last
    double repeated_s = 0;                        // all timed repetitions and what lies between them, on the root
    double read_s = 0;                            // once, before the repetitions: maximum over ranks
    double noise_s = 0;
    double write_s = 0;  // once, after them: the output file (0 when none was written)
    std::vector<RankTrace> ranks;
    std::optional<ExchangeRecord> exchange;  // none: one node, or every rank's output stays where it is
    Verification verification;
    std::optional<Quality> quality;
    std::optional<Preview> preview;           // of the first point of a network, where one is wished
    std::optional<BatchSearch> batch_search;  // of points with batch: largest
    std::string weights_source, weights_layout, weights_sha256;
    std::string image_sha256;        // of the file; empty for a scene
    DType sample_type = DType::f32;  // in which samples travel between host and device
    std::string output_file;         // empty: none
    std::string lost_metadata;       // of the input's, what output_file does not hold, in words; empty: nothing
    double useful_pixels = 0;        // per repetition, all ranks
    double processed_pixels = 0;
    int64_t num_patches = 0;
};

/// How often the point was measured; 0: never to the end.
[[nodiscard]] inline int64_t num_measurements(const PointTrace& trace) {
    return trace.wall_s.empty() ? 0 : 1 + std::ssize(trace.discarded);
}

/// Where, with what and how: enough for somebody else to check a figure.
struct Environment {
    std::string started_at;  // UTC, ISO 8601
    std::string command_line;
    std::string version, git_sha, compiler, build_type;
    bool git_dirty = false;
    struct Library {
        std::string name, header, loaded;
    };
    std::vector<Library> libraries;
    std::vector<std::pair<std::string, std::string>> variables;  // white list of launcher and library variables
    std::string host_processor;
    Topology topology;
};

}  // namespace pb
