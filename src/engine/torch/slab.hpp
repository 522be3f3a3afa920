// A slab of an image with LibTorch, Note [Exchanged rows]: a tensor for each map, with room for the border rows of the
// neighbours where they are read.
#pragma once

#include "engine/torch/network.hpp"
#include "network/slab_pieces.hpp"

#include "patchbench/engine/denoiser.hpp"

#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

/// The border rows of a map are sent when all of its rows are made; the next step that reads them waits for those of
/// the neighbours.
class Slab final : public SlabPass {
  public:
    /// `network`, `slab` and what `runner` holds must outlive it.
    Slab(const Network& network, const network::ExchangedSlab& slab, Runner runner);

    void run(const void* in, void* out, RowExchange* exchange) override;

  private:
    void run_step(size_t step, at::Tensor& out, RowExchange* exchange);
    void finish(RowExchange* exchange);
    [[nodiscard]] bool travels(size_t operation) const;
    [[nodiscard]] BorderRows border_rows(size_t operation, network::Side side) const;
    [[nodiscard]] std::span<std::byte> bytes_of(size_t operation, const Range& rows) const;

    const Network& network_;
    const network::ExchangedSlab& slab_;
    Runner runner_;
    std::vector<network::PieceStep> steps_;
    PieceMaps pieces_;                 // of the last pass: rows may still be on the way when it fails
    std::optional<size_t> in_flight_;  // the map whose border rows are on the way
};

}  // namespace pb::engine::torch_engine
