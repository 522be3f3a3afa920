// A slab of an image with a native network: which rows lie where, which are computed first, and when the border rows
// travel.
#pragma once

#include "engine/native/network.hpp"
#include "network/exchanged_memory.hpp"

#include "patchbench/engine/denoiser.hpp"

namespace pb::engine::native {

/// The tiles at the borders of a map whose border rows travel are computed first. While their rows are on the way, the
/// rows between them are computed.
class Slab final : public SlabPass {
  public:
    /// Both must outlive it. Throws OutOfMemory.
    Slab(Network& network, const network::ExchangedSlab& slab);

    void run(const void* in, void* out, RowExchange* exchange) override;

  private:
    [[nodiscard]] Map map_at(size_t operation) const;
    void run_step(size_t step, RowExchange* exchange);
    [[nodiscard]] bool reads(size_t step, std::optional<size_t> map) const;
    [[nodiscard]] bool travels(size_t operation) const;
    void compute(size_t step, const Range& rows);
    /// The tiles whose rows the neighbours need; no rows where there is no neighbour.
    [[nodiscard]] Range tiles_sent(size_t operation, network::Side to) const;
    [[nodiscard]] BorderRows border_rows(size_t operation, network::Side side) const;
    [[nodiscard]] std::span<std::byte> bytes_of(size_t operation, const Range& rows) const;

    Network& network_;
    const network::ExchangedSlab& slab_;
    network::ExchangedMemory memory_;
    EngineBuffer buffer_;
    Workplace place_;
    std::optional<size_t> in_flight_;  // the map whose border rows are on the way
};

}  // namespace pb::engine::native
