// A band schedule with a native network: which rows lie where at each step, and the copies of those that stay. The
// schedule may be that of the network with a late map (network/late_maps.hpp): then one operation of the network is two
// of the schedule.
#pragma once

#include "engine/layer_report.hpp"
#include "engine/native/network.hpp"
#include "network/band_memory.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::native {

class Bands final : public BandPass, public LayerReport {
  public:
    /// Both must outlive it. Throws OutOfMemory, and Error for the schedule of another network.
    Bands(Network& network, const network::BandSchedule& schedule);

    void run(int64_t step, const void* in, void* out) override;

  private:
    /// A step of the schedule's graph.
    struct Call {
        network::Step step;
        std::vector<size_t> reads;  // maps of the schedule
        std::vector<size_t> steps;  // of the network; the second one works on the result of the first, in its place
        std::vector<size_t> last_reads;  // maps that no later call reads
    };

    [[nodiscard]] std::vector<Call> make_calls() const;
    void run(const Call& call);
    [[nodiscard]] Map map_at(int64_t step, size_t operation) const;
    [[nodiscard]] float* block(size_t number) const;
    /// Bring the rows of a map that were kept after the step before, and keep those that the next step needs.
    void bring(int64_t step, size_t operation);
    void keep(int64_t step, size_t operation);
    void take(const Range& rows, const float* in);

    Network& network_;
    const network::BandSchedule& schedule_;
    network::BandMemory memory_;
    const std::vector<size_t>& origin_;  // by operation of the schedule: that of the network
    std::vector<Call> calls_;
    EngineBuffer buffer_;
    std::vector<Map> maps_;  // by operation of the schedule
    Workplace place_;
};

}  // namespace pb::engine::native
