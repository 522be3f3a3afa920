// Computes the graph of a network with LibTorch, step by step. Maps are released after their last reader and
// overwritten as in the memory plan, so that the peak is the one that the plan predicts.
#pragma once

#include "engine/torch/layer.hpp"
#include "engine/windows.hpp"
#include "network/parts/pieces.hpp"

#include "patchbench/network/memory_plan.hpp"

#include <optional>
#include <vector>

namespace pb::engine::torch_engine {

/// Pieces of the maps of a network.
struct PieceMaps {
    explicit PieceMaps(size_t num_operations) : maps(num_operations), held(num_operations) {}

    std::vector<at::Tensor> maps;      // by operation; undefined where nothing is held
    std::vector<network::Piece> held;  // what each is of its map
};

class Network {
  public:
    /// Copies the weights to the device and type of `placement`.
    Network(const Weights& weights, const Placement& placement);

    /// The network of `graph`, whose operation i is operation `origin[i]` of this one. Both have the same weights in
    /// memory.
    [[nodiscard]] Network rearranged(const network::Graph& graph, const std::vector<size_t>& origin) const;

    /// out = network(in). Call under InferenceMode. `clock`, where there is one, times the steps; CPU only.
    void run(const at::Tensor& in, at::Tensor& out, StepClock* clock = nullptr) const;

    /// Makes pieces of all maps: of `out` that of the last one of `steps`, which are piece_steps() of this network and
    /// of windows of the extent of `in`.
    void run_pieces(const std::vector<network::PieceStep>& steps, const at::Tensor& in, at::Tensor& out,
                    StepClock* clock = nullptr) const;
    /// Makes the piece of one of them, number `number`, from those that are held. That of the output is written to
    /// `out`, which has its extents.
    void run_piece(size_t number, const network::PieceStep& step, PieceMaps& pieces, at::Tensor& out) const;

    /// Rows `rows` of the map of `operation` for inputs of `width` pixels: at `pointer`, as a tensor that owns nothing.
    [[nodiscard]] at::Tensor rows_at(void* pointer, size_t operation, const Range& rows, int64_t width) const;

    [[nodiscard]] const network::Graph& graph() const { return graph_; }
    [[nodiscard]] const at::TensorOptions& options() const { return options_; }
    [[nodiscard]] const network::MemoryPlan& memory() const { return plan_; }

  private:
    using Maps = std::vector<at::Tensor>;  // by operation

    struct Call {
        network::Step step;
        std::vector<size_t> reads;          // maps that it reads
        std::vector<size_t> last_reads;     // those of them that no later call reads
        std::optional<size_t> overwritten;  // the map whose memory holds the result
        std::optional<Layer> layer;         // for convolutions
    };

    /// What a call works on.
    struct Operands {
        std::vector<at::Tensor> maps;       // those that it reads
        std::optional<size_t> overwritten;  // number of the one of them whose memory holds the result
    };

    /// Without layers.
    Network(const network::Graph& graph, const at::TensorOptions& options, at::MemoryFormat format);
    [[nodiscard]] const std::optional<Layer>& layer_of(size_t operation) const;

    [[nodiscard]] Operands operands_of(const Call& call, const Maps& maps) const;
    void write(const Call& call, const Operands& operands, const std::optional<Layer>& layer, at::Tensor& out) const;
    [[nodiscard]] at::Tensor compute(const Call& call, const Operands& operands,
                                     const std::optional<Layer>& layer) const;
    [[nodiscard]] at::Tensor convolve_with(const Call& call, const Operands& operands, const Layer& layer) const;

    [[nodiscard]] Operands operands_of(const network::PieceStep& step, const PieceMaps& pieces) const;
    /// What no later step needs. `early`: before the step computes.
    void give_up(const network::PieceStep& step, PieceMaps& pieces, bool early) const;
    /// Copies what is held of a map into `piece`, whose other pixels hold anything.
    void widen(size_t map, const network::Piece& piece, PieceMaps& pieces) const;

    network::Graph graph_;
    network::MemoryPlan plan_;
    at::TensorOptions options_;
    at::MemoryFormat format_;
    std::vector<Call> calls_;
};

}  // namespace pb::engine::torch_engine
