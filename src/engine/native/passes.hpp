// The passes of a native network: over row bands, over a slab of rows, and over windows of which only the cores are
// used.
#pragma once

#include "engine/native/network.hpp"
#include "engine/windows.hpp"
#include "network/parts/band_schedule.hpp"
#include "network/parts/exchanged_slab.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::native {

/// A band schedule with a native network: which rows lie where at each step, and the copies of those that stay. The
/// schedule may be that of the network with a late map (network/parts/band_schedule.hpp): then one operation of the
/// network is two of the schedule.
class Bands final : public BandPass {
  public:
    /// Both must outlive it. Throws OutOfMemory, and Error for the schedule of another network.
    Bands(Network& network, const network::BandSchedule& schedule);

    void run(int64_t step, const void* in, void* out) override;

  private:
    [[nodiscard]] Map map_at(int64_t step, size_t operation) const;
    [[nodiscard]] float* block(size_t number) const;
    /// Bring the rows of a map that were kept after the step before, and keep those that the next step needs.
    void bring(int64_t step, size_t operation);
    void keep(int64_t step, size_t operation);
    void take(const Range& rows, const float* in);

    Network& network_;
    const network::BandSchedule& schedule_;
    network::BandMemory memory_;
    const std::vector<size_t>& origin_;            // by operation of the schedule: that of the network
    std::vector<Network::Call> calls_;             // of the schedule's graph
    std::vector<std::vector<size_t>> last_reads_;  // by call: maps that no later one reads
    EngineBuffer buffer_;
    Workplace place_;
};

/// A slab of an image with a native network. The tiles at the borders of a map whose border rows travel are computed
/// first. While their rows are on the way, the rows between them are computed.
class Slab final : public TravellingSlabPass {
  public:
    /// Both must outlive it. Throws OutOfMemory.
    Slab(Network& network, const network::ExchangedSlab& slab);

    void run(const void* in, void* out, RowExchange* exchange) override;

  private:
    [[nodiscard]] Map map_at(size_t operation) const;
    void run_step(size_t step);
    void compute(size_t step, const Range& rows);
    /// The tiles whose rows the neighbours need; no rows where there is no neighbour.
    [[nodiscard]] Range tiles_sent(size_t operation, network::Side to) const;
    [[nodiscard]] std::span<std::byte> bytes_of(size_t map, const Range& rows) const override;

    Network& network_;
    network::ExchangedMemory memory_;
    EngineBuffer buffer_;
    Workplace place_;
};

class Cropped final : public AlikeCropPass {
  public:
    /// `network` and `crop` must outlive it. Throws OutOfMemory.
    Cropped(Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected);

  private:
    void run_alike(const BatchView& in, const BatchView& out, const Rect& core, StepClock* clock) override;
    void place_maps(const BatchView& in, const BatchView& out, const Rect& core);
    [[nodiscard]] Map map_at(size_t operation, int64_t n, const Rect& core) const;

    Network& network_;
    network::Arena arena_;
    EngineBuffer buffer_;
    Workplace place_;
};

}  // namespace pb::engine::native
