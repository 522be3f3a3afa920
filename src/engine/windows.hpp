// Windows as engines get them: the checks that all engines make before they touch a pointer, and what the passes of
// native and torch have in common: over cropped windows, which takes those with the same core through the network
// together, and over a slab whose border rows travel.
#pragma once

#include "base/stopwatch.hpp"
#include "network/parts/exchanged_slab.hpp"
#include "network/parts/window_crop.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <optional>
#include <span>
#include <vector>

namespace pb::engine {

struct ExpectedViews {
    network::NetworkKind kind;
    int64_t channels_in;
    int64_t channels_out;
    int64_t step;        // extents are multiples of it
    int64_t widest_map;  // in values per pixel
    DType dtype{};
    Layout layout{};
    DeviceId device{};
};

[[nodiscard]] ExpectedViews expected_views(const Weights& weights, const EngineOptions& options);

/// Throws Error when a view does not fit, and IndexLimit when one sample would have 2^31 elements or more in the widest
/// layer: more than 32-bit indices of LibTorch and cuDNN can address, whatever the memory.
void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out);

/// How long each step of a forward call takes.
class StepClock {
  public:
    /// Before the first step.
    void start() { watch_ = {}; }
    /// After each step. `part`: of its map that it computed.
    void add(const network::Step& step, double part = 1) { times_.push_back({step, watch_.lap(), part}); }
    [[nodiscard]] const std::vector<StepTime>& times() const { return times_; }

  private:
    Stopwatch watch_;
    std::vector<StepTime> times_;
};

/// Calls the network once for each run of neighbouring windows that have one core.
class AlikeCropPass : public CropPass {
  public:
    /// Up to `n` windows. `crop` must outlive it.
    AlikeCropPass(const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected)
        : crop_(crop), most_windows_(n), expected_(expected) {}

    /// Throws Error where views or cores are not those that the crop was made for.
    void run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) final;
    /// Seconds of all calls, parts on average.
    [[nodiscard]] std::vector<StepTime> run_by_steps(const BatchView& in, const BatchView& out,
                                                     std::span<const Rect> cores) final;

  protected:
    [[nodiscard]] const network::WindowCrop& crop() const { return crop_; }

  private:
    /// Windows that all have the core `core`. `clock`, where there is one, times the steps.
    virtual void run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) = 0;
    /// Adds the times of the steps to `sum`, where there is one.
    void run_all(const BatchView& in, const BatchView& out, std::span<const Rect> cores, std::vector<StepTime>* sum);
    void check(const BatchView& in, const BatchView& out, std::span<const Rect> cores) const;

    const network::WindowCrop& crop_;
    int64_t most_windows_;
    ExpectedViews expected_;
};

/// A pass over a slab whose border rows travel. Those of one map are on the way at a time, until a step reads them or
/// those of another map are ready.
class TravellingSlabPass : public SlabPass {
  protected:
    explicit TravellingSlabPass(const network::ExchangedSlab& slab) : slab_(slab) {}

    [[nodiscard]] const network::ExchangedSlab& slab() const { return slab_; }

    /// Begins a pass. `exchange` may be null: then nothing travels.
    void begin_pass(RowExchange* exchange);
    [[nodiscard]] bool travels(size_t map) const { return exchange_ != nullptr && slab_.travels(map); }
    /// Before a step that reads these maps.
    void wait_for_rows_of(const std::vector<size_t>& maps);
    /// When the rows that the neighbours need are made, of a map that travels.
    void send_rows_of(size_t map);

    /// Memory of rows of a map, which are there. The pass may fail while rows are on the way.
    [[nodiscard]] virtual std::span<std::byte> bytes_of(size_t map, const Range& rows) const = 0;

  private:
    void finish_exchange();
    [[nodiscard]] BorderRows border_rows(size_t map, network::Side side) const;

    const network::ExchangedSlab& slab_;
    RowExchange* exchange_ = nullptr;
    std::optional<size_t> in_flight_;  // the map whose border rows are on the way
};

}  // namespace pb::engine
