// A band schedule with a native network: which rows lie where at each step, and the copies of those that stay.
#pragma once

#include "engine/layer_report.hpp"
#include "engine/native/network.hpp"
#include "network/band_memory.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::native {

class Bands final : public BandPass, public LayerReport {
  public:
    /// Both must outlive it. Throws OutOfMemory.
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
    std::vector<std::vector<size_t>> last_read_;  // by step of the network: the maps that no later one reads
    EngineBuffer buffer_;
    Workplace place_;
};

}  // namespace pb::engine::native
