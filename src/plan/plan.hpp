// Makes a Plan from Config and Topology: the fully specified points of a study, in order. Pure: no MPI, no device, no
// file. A halo or batch `auto` must be found by measuring: it stays open in the plan, and `run` settles it with the
// functions below.
#pragma once

#include "config/settings.hpp"
#include "plan/topology.hpp"

#include "patchbench/base/choices.hpp"
#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_facts.hpp"
#include "patchbench/plan/tile_grid.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::plan {

/// What the plan needs to know about an image file before its pixels are read: the whole image, before any crop.
/// `channels` do not count alpha.
struct SourceFacts {
    Extent extent;
    int64_t channels = 3;
    DType dtype = DType::f32;  // type of the stored samples; a synthetic scene is made as f32
    bool windowed = true;      // parts of it can be read without decoding the rest
};
/// Called once for each `image.path`, never for synthetic scenes.
using SourceLookup = std::function<SourceFacts(const config::ImageSettings&)>;
/// Returns the network that the weights of a point are for; nullopt when it is unknown or they are not from a file.
/// Called once for each network, file and number of image channels.
using NetworkLookup =
    std::function<std::optional<network::NetworkShape>(const config::PointSettings&, int64_t channels)>;

/// One fully specified measurement.
struct Point {
    int64_t index = 0;
    std::string key;  // 16 hex digits, see `key_of`: the same measurement has the same key
    config::PointSettings settings;
    SourceFacts source;  // after the crop
    std::optional<network::NetworkShape>
        relative;  // when the weights are of a larger or smaller network than the standard one
    DeviceKind device = DeviceKind::cpu;
    int num_ranks = 1;
    int weight_sharers = 1;  // ranks of a node that share transformed weights; the fewest where nodes differ
    int threads = 1;         // of each rank inside a forward call; the most where `auto` gives ranks different ones
    bool multiplies_bf16 = false;          // the processors of all ranks, as engine native needs it
    std::optional<int64_t> halo;           // pixels; nullopt while `auto` is open
    std::optional<int64_t> band_rows;      // of carried rows: the rows of a band; none: tiles, or exchanged rows
    std::optional<int64_t> strip_columns;  // of carried rows: columns of a strip's window; none: the whole width
    bool exchanges_rows = false;           // ranks send each other border rows, by halo exchanged or as halo auto chose
    std::optional<int64_t> batch;  // effective (no larger than the largest share); nullopt while it or the halo is open
    std::optional<int64_t> winograd_tile;  // of engine native where memory is short (memory_limit.hpp); else none
    std::string refusal;       // why it cannot run here; empty when it can. Recorded as `refused`, never run
    double sigma = 0;          // noise level of the image, in [0,1] units
    bool uses_sigma = true;    // the network gets it as input, or its input is scaled to it
    std::string sigma_note;    // note for the user about sigma
    double most_mib = 0;       // what a rank may take: memory_limit_mib or its part of the free memory; 0: unknown
    bool only_bands = false;   // halo auto: one rank would carry rows, so several take no tiles, whose bits differ
    std::string tiles_note;    // that a memory limit makes the tiles of Winograd's method small
    std::string halo_note;     // what `halo: auto` took; `notes` say what else it weighed
    std::string edge_note;     // that the image is extended for a network that may pad by itself
    std::string channel_note;  // that a channel is kept which the file does not call alpha
    std::string weights_note;  // note for the user about what is not read of the weights' file
    std::vector<std::string> notes;  // "processed / useful pixels = 16: ..." and the like

    /// Not of a network that the user brings.
    [[nodiscard]] network::NetworkShape shape() const {
        return relative.value_or(network::standard_shape(settings.network, source.channels));
    }
    /// Throws Error where the layers of a network that the user brings are not known.
    [[nodiscard]] network::Graph graph() const;
    [[nodiscard]] const network::NetworkFacts& facts() const {
        return settings.network.card ? network::network_facts(*settings.network.card) : network::network_facts(shape());
    }
};

struct Plan {
    config::StudySettings study;
    std::vector<Point> points;
};

/// Throws UsageError that names the point and the key for every impossible combination (illegal patch or halo with the
/// nearest legal values, ranks that share a device, ...). A point that is impossible on this launch or for this image
/// (more ranks than were started, no such device, fp16 on the CPU, an odd shape with odd_shape error) is refused; when
/// every point is, UsageError is thrown. Whole-image points have halo 0 and batch 1. Without `networks` every network
/// is the standard one.
[[nodiscard]] Plan make_plan(const config::Config& config, const Topology& topology, const SourceLookup& lookup,
                             const NetworkLookup& networks = {});

/// A step of make_plan: resolves the device of `point` on this launch. Throws Refused when the point cannot run here,
/// and UsageError when it can run nowhere.
void place_point(Point& point, const config::StudySettings& study, const Topology& topology);

/// The faster of the engines `torch` and `native` that can run the point, of a network whose layers are known, within
/// its memory limit.
[[nodiscard]] EngineKind fastest_engine(const Point& point);

/// The faster memory layout of a point whose device and engine are known. In fp32 cuDNN computes each network faster in
/// contiguous tensors, and in less memory: for channels_last it takes workspaces that no plan foresees
/// (docs/results/gpu.md). Rows and fused layers need channels_last.
[[nodiscard]] Layout fastest_layout(const Point& point);

/// Set the halo or batch that `auto` left open. Settle the halo first: the batch depends on it, and a fixed batch is
/// settled with it. Both throw UsageError for an illegal value, and note a batch that is smaller than asked for.
void settle_halo(Point& point, int64_t halo);
void settle_batch(Point& point, int64_t asked);

/// Adds the notes on a noise level of 0 that was not chosen, on noise that is added to a noisy image, and on a level of
/// training that is not used.
void note_sigma(Point& point);

/// Adds the notes on the windows or rows of a point that is placed and has its halo: on work that more than the useful
/// pixels need, on ranks that have none, on what ranks send.
void note_work(Point& point);

/// Whether layers of the network are fused on a GPU. With `fusion: auto` they are where that was measured to be faster
/// (docs/results/gpu.md): whole windows in tf32, bf16 or fp16, channels_last, but not for the largest batch, which
/// leaves no memory to check them. Settle the halo first: cropped windows have too many shapes.
[[nodiscard]] bool is_fused(const Point& point);

/// The part of an image of extent `whole` that is denoised: its centre, sized by image.crop_height and crop_width.
/// Throws UsageError for a crop that is larger than the image.
[[nodiscard]] Rect crop_of(const config::ImageSettings& image, Extent whole);

/// Whether a window or image of `seen` has 2^31 or more elements in the network's widest layer, where ATen's 32-bit
/// indexing ends. Such a forward call is reported as status index_limit.
[[nodiscard]] bool exceeds_index_limit(const Point& point, Extent seen);

/// FNV-1a (64 bits), as 16 hex digits, over "key=value\n" of all settings in the order of their table and the extent
/// and channels of the image; device, ranks and sigma as resolved, so that `ranks: all` of 4 equals `ranks: 4`.
[[nodiscard]] std::string key_of(const Point& point);

/// The tile grid of a tiles point. Requires that its halo is settled.
[[nodiscard]] TileGrid tile_grid(const Point& point);

/// The grid of its patches, each with this halo.
[[nodiscard]] TileGrid patch_grid(const Point& point, int64_t halo);

/// Windows of `rank` (its number among the ranks of the point); empty for other ranks. With `schedule: dynamic` all
/// windows, from which the rank takes batches until none is left.
[[nodiscard]] Range windows_of_rank(const Point& point, const TileGrid& grid, int rank);

/// Cuts `windows` into batches: ranges [begin, end) of window indices; the last may be shorter.
[[nodiscard]] std::vector<Range> cut_batches(Range windows, int64_t batch);

/// The batch that can run: at most the largest share of a rank, and what the network takes. Requires the halo.
[[nodiscard]] int64_t effective_batch(const Point& point, int64_t asked);

/// How an image goes through the network. tiles: cut into windows. whole: in one call. split, pad: as the setting
/// odd_shape says, for extents that do not fit.
enum class ImagePath : uint8_t { tiles, whole, split, pad };

/// Returns nothing for an image or shape that the network cannot take.
[[nodiscard]] std::optional<ImagePath> path_of(const Point& point);

/// Whether devices are simulated (engine `timed`): no network runs, and the times are not those of a network.
[[nodiscard]] inline bool is_simulated(const Point& point) { return point.settings.engine == EngineKind::timed; }

/// Short name of a point for tables and file names, e.g. "dncnn-p256-h20-b4-fp32" or "drunet-2048x1228-split-bf16";
/// with engine `timed` "simulated-dncnn-p256-h20-b4-fp32", with another than `torch` "dncnn-native-p256-h20-b4-fp32".
/// Points that differ only in other settings have the same label.
[[nodiscard]] std::string label_of(const Point& point);
/// The halo in pixels, "carried", "exchanged"; the setting's word, such as "auto", while it is open.
[[nodiscard]] std::string halo_text(const Point& point);
/// What the engine adds to the label, "-onnxruntime"; empty for torch and for simulated devices.
[[nodiscard]] std::string engine_part(const Point& point);

/// Thrown by make_plan. The message names the point, the reason does not.
class PointError : public UsageError {
  public:
    PointError(const Point& point, const std::string& why, const std::string& remark = {});
    [[nodiscard]] const std::string& reason() const { return reason_; }

  private:
    std::string reason_;
};

// Whole images of any extents through a network whose alignment they do not fit: the three rules of `odd_shape`.

/// The tiles, one forward call each and in order, whose cores cover an image of `extent` exactly once. Aligned extents
/// give one call; only the window of a padded call (always alone, anchored at 0,0) reaches beyond the image.
/// OddShape::split is DRUNet's own rule as in deepinv 0.5.0: it also pads aligned images with an edge below 32 px to a
/// multiple of 16; other networks pad, and relatives of DRUNet whose alignment is above 16. Throws UsageError for an
/// empty image and Refused for OddShape::error on extents that are not multiples of the alignment (names the nearest
/// legal extents).
[[nodiscard]] std::vector<Tile> whole_image_calls(const network::NetworkFacts& facts, Extent extent, OddShape rule);

}  // namespace pb::plan
