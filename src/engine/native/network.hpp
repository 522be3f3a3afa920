// Computes the graph of a network on the CPU, call by call, with kernels of our own. All maps of a forward call lie in
// one block of memory, at the offsets of the memory plan.
#pragma once

#include "base/thread_pool.hpp"
#include "engine/memory.hpp"
#include "engine/native/kernels.hpp"
#include "engine/native/packed_weights.hpp"
#include "engine/windows.hpp"
#include "network/native_layout.hpp"

#include "patchbench/base/views.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <optional>
#include <vector>

namespace pb::engine::native {

/// A map, NHWC: where its rows are, and which pixels a call computes.
struct Map {
    MapRows<float> rows;
    int64_t n = 0, h = 0, w = 0, channels = 0;
    Range made;     // rows of each window
    Range columns;  // of these rows

    [[nodiscard]] MapRows<const float> read() const {
        return {rows.values, rows.first, rows.places, rows.row_floats, rows.first_column, rows.channels};
    }
    [[nodiscard]] int64_t num_made() const { return n * made.size(); }
    /// The part of each window that a call computes.
    [[nodiscard]] double part() const {
        return static_cast<double>(made.size() * columns.size()) / static_cast<double>(h * w);
    }
};

/// What calls work on.
struct Workplace {
    std::vector<Map> maps;        // by operation; those that are fused away are never looked at
    std::vector<float*> scratch;  // by thread
};

/// Memory of a block of `arena`, with which `buffer` begins.
[[nodiscard]] float* block_in(const EngineBuffer& buffer, const network::Arena& arena, size_t block);

class Network {
  public:
    /// Packs the weights, or finds them packed. Throws OutOfMemory.
    Network(const Weights& weights, const EngineOptions& options);

    /// out = network(in); both NHWC float32. Throws OutOfMemory before anything is written. `clock`, where there is
    /// one, times the steps.
    void run(const BatchView& in, const BatchView& out, StepClock* clock = nullptr);

    struct Call {
        network::Step step;
        network::OperationKind kind;       // of its first operation
        std::vector<size_t> reads;         // maps that it reads
        bool adds = false;                 // the last of them to a convolution
        std::optional<PackedLayer> layer;  // of convolutions
    };
    /// The calls that compute `graph`, whose operation i is operation `origin[i]` of the network.
    [[nodiscard]] std::vector<Call> calls_for(const network::Graph& graph, const std::vector<size_t>& origin) const;

    [[nodiscard]] const network::Graph& graph() const { return graph_; }
    [[nodiscard]] const std::vector<network::Step>& steps() const { return plan_.steps; }
    /// Memory for `arena`, and behind it the scratch memory of the threads. Throws OutOfMemory.
    [[nodiscard]] EngineBuffer buffer_for(const network::Arena& arena) const;
    /// The scratch memory of each thread in such a buffer.
    [[nodiscard]] std::vector<float*> scratch_in(const EngineBuffer& buffer, const network::Arena& arena) const;
    /// The map that an operation makes of `n` images, without memory: rows are neither placed nor made, columns are
    /// all.
    [[nodiscard]] Map map_of(size_t operation, int64_t n, Extent image) const;
    /// All steps, as run_call. `clock`, where there is one, times them.
    void run_steps(const Workplace& place, StepClock* clock);
    /// Number `step` of steps(), as run_call.
    void run_step(size_t step, const Workplace& place) { run_call(calls_[step], place); }
    /// Rows of the result that it makes, and those of the maps it reads, are in memory.
    void run_call(const Call& call, const Workplace& place);

  private:
    [[nodiscard]] Map whole_map(size_t operation, const BatchView& in, const BatchView& out,
                                const EngineBuffer& buffer) const;
    void convolve(const Call& call, const Workplace& place);
    void combine(const Call& call, const Workplace& place);
    void concatenate(const Call& call, const Workplace& place);
    void max_pool(const Call& call, const Workplace& place);
    void upsample(const Call& call, const Workplace& place);

    network::Graph graph_;
    network::MemoryPlan plan_;
    Kernels kernels_;
    ThreadPool threads_;
    PackedWeights weights_;
    std::vector<Call> calls_;
    int64_t scratch_bytes_;  // of each thread
    int64_t pixels_ = 0;     // that arena_ is for
    network::Arena arena_;
};

}  // namespace pb::engine::native
