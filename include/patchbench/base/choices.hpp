// Settings that are a choice between named ways, where more than one layer must know the names.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>

namespace pb {

/// native: kernels of our own for the CPU. timed: no network at all; each rank's device is a clock that takes
/// T(b) for a batch (settings `timed`). onnxruntime and those after it run in a process of their own; python: an
/// adapter of the user (docs/engines.md).
enum class EngineKind : uint8_t {
    torch,
    native,
    reference,
    timed,
    onnxruntime,
    openvino,
    pytorch,
    tensorflow,
    jax,
    python
};

/// Whether the engine runs in a process of its own beside the rank.
[[nodiscard]] constexpr bool has_own_process(EngineKind engine) { return engine >= EngineKind::onnxruntime; }

/// What happens to a whole image whose extents are not multiples of the network's alignment. split: deepinv's and
/// KAIR's DRUNet rule (four overlapping quadrants, one after the other; small images padded to a multiple of 16);
/// networks without such a rule of their own are padded. pad: replicate right and bottom to a multiple of the
/// alignment. error: refuse.
enum class OddShape : uint8_t { split, pad, error };

/// Whether a layer's bias, ReLU and sum are computed inside its convolution on a GPU.
enum class FusionKind : uint8_t { automatic, on, off };

/// What carries output from other nodes to rank 0, and border rows between GPUs.
enum class ExchangeKind : uint8_t { automatic, mpi, nccl };

/// What carries per-rank figures to rank 0.
enum class ReductionKind : uint8_t { automatic, nccl, mpi };

}  // namespace pb
