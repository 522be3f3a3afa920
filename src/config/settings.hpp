// Every setting of patchbench with its default, unit and meaning. Each is listed once, in the `fields` functions below:
// YAML reading, unknown-key errors, `--set`, `--help` and the echo in results are visitors over them.
#pragma once

#include "config/protocol_settings.hpp"

#include "patchbench/base/choices.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_facts.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::config {

/// What is denoised. A file (`path`) or, when it is empty, a synthetic scene.
struct ImageSettings {
    std::string path;
    std::string raw;        // shape and type of raw samples (sample_settings.hpp); empty: the file has a header
    std::string range;      // sample values that map to 0 and 1; empty: the range of the type
    std::string nodata;     // sample value that marks missing data; empty: as the file says
    std::string bands;      // channels of the file to use; empty: all but alpha
    std::string clean;      // file of the image without noise; empty: the image itself, where noise is added
    int64_t height = 2048;  // of the synthetic scene
    int64_t width = 2048;
    int64_t height_per_rank = 0;  // scene height per rank, replaces `height`; 0: not used
    int64_t channels = 3;
    int64_t crop_height = 0;  // part of a file to use, from its centre; 0: the whole image
    int64_t crop_width = 0;
    double noise_sigma = 0.1;
    uint64_t seed = 7;
};

/// How long the simulated device of the engine `timed` takes for a batch of b windows (call_times.hpp).
struct TimedSettings {
    double base_s = 0;
    double per_window_s = 0.01;
    std::string table;    // replaces both: "1:0.012,4:0.03"
    std::string results;  // file from which the table is taken
    int64_t slow_rank = -1;
    double slow_factor = 1;

    bool operator==(const TimedSettings&) const = default;
};

/// Settings of the engines that run in a process of their own (docs/engines.md).
struct WorkerSettings {
    std::string options;
};

/// One point, before it is planned. Every key may have a list of values in the YAML file: an axis of the study.
struct PointSettings {
    NetworkSetting network;
    std::string weights{kDefaultWeights};
    NoiseLevelSetting sigma;
    NoiseLevelSetting trained_sigma;
    EngineSetting engine;
    DeviceChoice device = DeviceChoice::automatic;
    Precision dtype = Precision::fp32;
    LayoutSetting layout;
    CountSetting threads;
    int64_t patch = 256;
    HaloSetting halo;
    double halo_tolerance = 0.5 / 255;
    BatchSetting batch;
    LastBatch last_batch = LastBatch::pad;
    Workload workload = Workload::tiles;
    bool replicate = false;
    OutputKind output = OutputKind::automatic;
    OddShape odd_shape = OddShape::pad;
    CountSetting ranks{0, "all"};
    Placement placement = Placement::compact;
    Schedule schedule = Schedule::contiguous;
    int64_t slots = 2;
    bool overlap = true;
    bool cudnn_benchmark = true;
    bool cuda_graph = false;
    FusionKind fusion = FusionKind::automatic;
    int64_t memory_limit_mib = 0;
    TimedSettings timed;
    WorkerSettings worker;
    ImageSettings image;
    ProtocolSettings protocol;
};

/// Settings of the whole study.
struct StudySettings {
    std::string name = "study";
    std::string preset;
    SharingRule device_sharing = SharingRule::error;
    ReductionKind reduction = ReductionKind::automatic;
    ExchangeKind exchange = ExchangeKind::automatic;
    double watchdog_s = 60;
    bool bounds = true;
    bool save_images = true;
    int64_t previews = 384;
};

template <class Settings, class Visitor>
void work_fields(Settings& s, Visitor&& v) {
    v(setting("network", "", "which network, or a file of another one (docs/networks.md)"), s.network);
    v(setting("weights", "", "weights file, seed:<n> (deterministic, untrained) or default (models/<network>.yaml)"),
      s.weights);
    v(setting("sigma", "[0,1]", {0, 1}, "noise level told to the network; auto: image.noise_sigma"), s.sigma);
    v(setting("trained_sigma", "[0,1]", {network::kSmallestSigma, 1},
              "noise level that the weights were trained for; auto: as they, or their model card, say"),
      s.trained_sigma);
    v(setting("engine", "", "what runs the network; auto: native on the CPU where it can run the point, else torch"),
      s.engine);
    v(setting("device", "", "auto takes CUDA devices when there are any"), s.device);
    v(setting("dtype", "", "precision of the network (tf32, fp16: CUDA only)"), s.dtype);
    v(setting("layout", "", "memory layout of the network's tensors; auto: the faster one"), s.layout);
    v(setting(
          "threads", "", {1, 4096},
          "CPU threads inside a forward call; on a GPU, those that cut windows; auto: the rank's share of its cores"),
      s.threads);
    v(setting("patch", "px", {1, kMaxEdge},
              "edge of the square of pixels that is kept of a window; a multiple of the alignment"),
      s.patch);
    v(setting("halo", "px", {0, kMaxEdge},
              "context round a patch: none, a multiple of the alignment, exact, carried: bands of `patch` rows over "
              "the whole width, each row computed once (engines native and torch), exchanged: the same, and ranks "
              "send each other the border rows of every layer (engines native and torch), or auto: engines native "
              "and torch on a CPU take the cheapest of these and the smallest halo without visible seams, others "
              "search for that halo"),
      s.halo);
    v(setting("halo_tolerance", "[0,1]", {0, 1}, "largest seam error that halo auto accepts"), s.halo_tolerance);
    v(setting("batch", "", {1, kMaxCount},
              "windows in one forward call; auto: the fastest found in 5 % of the job, on a CPU a small one; "
              "largest: the largest that fits"),
      s.batch);
    v(setting("last_batch", "", "pad repeats a window and drops its output; ragged runs a smaller batch"),
      s.last_batch);
    v(setting("workload", "", "tiles, or whole images with one forward call each"), s.workload);
    v(setting("replicate", "", "whole: every rank runs its own copy"), s.replicate);
    v(setting("output", "",
              "memory; file: written by all ranks, none holds the image; checksum: nothing is kept; auto: file where "
              "input and output take more than half of a host's free memory"),
      s.output);
    v(setting("odd_shape", "", "whole: extents that are not multiples of the alignment"), s.odd_shape);
    v(setting("ranks", "", {1, kMaxCount}, "how many of the started ranks take part"), s.ranks);
    v(setting("placement", "", "of fewer ranks than were started over nodes: fill node after node, or all in turn"),
      s.placement);
    v(setting("schedule", "", "contiguous shares of the windows, or dynamic: batches are taken from a shared counter"),
      s.schedule);
    v(setting("slots", "", {1, 3}, "batches in flight on a CUDA device, 1 to 3; 1: none overlap"), s.slots);
    v(setting("overlap", "", "CUDA: copies and compute at the same time; off: stages one after the other"), s.overlap);
    v(setting("cudnn_benchmark", "", "CUDA: let cuDNN time its algorithms for each shape"), s.cudnn_benchmark);
    v(setting("cuda_graph", "", "CUDA: replay the forward call as a captured graph"), s.cuda_graph);
    v(setting("fusion", "", "CUDA: bias, ReLU and sums inside the convolutions, each checked; auto: where faster"),
      s.fusion);
    v(setting("memory_limit_mib", "MiB", {0, kMaxEdge}, "cap on the engine's allocator, CPU too; 0: none"),
      s.memory_limit_mib);
    v(setting("timed.base_s", "s", {0, kMaxSeconds}, "engine timed: T(b) = base_s + per_window_s b"), s.timed.base_s);
    v(setting("timed.per_window_s", "s", {0, kMaxSeconds}, "engine timed: see timed.base_s"), s.timed.per_window_s);
    v(setting("timed.table", "", "engine timed: T(b) by batch in seconds, as in 1:0.012,4:0.03; wins over both"),
      s.timed.table);
    v(setting("timed.results", "", "engine timed: results.jsonl whose forward calls give the table"), s.timed.results);
    v(setting("timed.slow_rank", "", {-1, kMaxCount}, "engine timed: number of a slow rank; -1: none"),
      s.timed.slow_rank);
    v(setting("timed.slow_factor", "", {1, 1000}, "engine timed: how much longer its calls take"), s.timed.slow_factor);
    v(setting("worker.options", "",
              "engines in a process of their own: options of the adapter, NAME or NAME=VALUE, joined by commas"),
      s.worker.options);
    v(setting("image.path", "", "image file; empty: a synthetic scene"), s.image.path);
    v(setting("image.raw", "", "the file holds raw samples of this shape, as 2000x3000x1:u16; empty: it says itself"),
      s.image.raw);
    v(setting("image.range", "",
              "sample values of the file that are 0 and 1 to the network: auto (percentiles) or LO:HI, as -300:4700; "
              "empty: those of the type"),
      s.image.range);
    v(setting("image.nodata", "",
              "sample value of the file that is no data and is kept: a number, nan or none; empty: as the file says"),
      s.image.nodata);
    v(setting("image.bands", "",
              "1 or 3 channels of the file that are the image, as 4 or 4-6, alpha counted; empty: all but alpha"),
      s.image.bands);
    v(setting("image.clean", "",
              "the same image without noise, a file that is read as image.path is: PSNR and SSIM are those against it; "
              "empty: where noise is added, the image itself"),
      s.image.clean);
    v(setting("image.height", "px", {1, kMaxEdge}, "of the synthetic scene"), s.image.height);
    v(setting("image.width", "px", {1, kMaxEdge}, "of the synthetic scene"), s.image.width);
    v(setting("image.height_per_rank", "px", {0, kMaxEdge},
              "of the scene: its height is this times the ranks of the point; 0: image.height"),
      s.image.height_per_rank);
    v(setting("image.channels", "", {1, 3}, "of the synthetic scene: 1 or 3"), s.image.channels);
    v(setting("image.crop_height", "px", {0, kMaxEdge}, "of the file: its centre; 0: all"), s.image.crop_height);
    v(setting("image.crop_width", "px", {0, kMaxEdge}, "of the file: its centre; 0: all"), s.image.crop_width);
    v(setting("image.noise_sigma", "[0,1]", {0, 10}, "standard deviation of the Gaussian noise added; 0: none"),
      s.image.noise_sigma);
    v(setting("image.seed", "", "of the scene and of the noise"), s.image.seed);
}

/// All settings of a point.
template <class Settings, class Visitor>
void point_fields(Settings& s, Visitor&& v) {
    work_fields(s, v);
    protocol_fields(s.protocol, v);
}

template <class Settings, class Visitor>
void study_fields(Settings& s, Visitor&& v) {
    v(setting("name", "", "of the study, in results and file names"), s.name);
    v(setting("preset", "", "which of the study's `presets` holds; empty: none"), s.preset);
    v(setting("devices.sharing", "", "two ranks on one GPU: error, or allow (figures are then INVALID)"),
      s.device_sharing);
    v(setting("metrics.reduction", "", "what carries per-rank figures to rank 0"), s.reduction);
    v(setting("exchange", "",
              "what carries output between nodes, and border rows between GPUs (halo: exchanged): mpi, or nccl "
              "(run on one GPU only); auto: mpi"),
      s.exchange);
    v(setting("watchdog_s", "s", {0, kMaxSeconds}, "a rank that is stopped this long ends the job; 0: never"),
      s.watchdog_s);
    v(setting("bounds", "", "measure what devices and hosts reach at best, once a precision, and set points beside it"),
      s.bounds);
    v(setting("save_images", "", "write the denoised image of each point into the study's folder"), s.save_images);
    v(setting("previews", "px", {0, 4096},
              "edge of the pictures before and after that the report shows of each network; 0: none"),
      s.previews);
}

/// A study: its own settings and the points that its lists expand to, in the order of the file.
struct Config {
    StudySettings study;
    std::vector<PointSettings> points;
    std::string file;                               // where it came from
    std::vector<std::string> unmatched_exclusions;  // places of those that match no point
};

}  // namespace pb::config
