// The engine `reference`: the networks once more, in plain loops and double precision, to test other engines against.
// CPU, fp32 in and out, either layout; slow.
#pragma once

#include "patchbench/engine/denoiser.hpp"

namespace pb {

/// Throws UsageError for a device other than the CPU or a precision other than fp32.
[[nodiscard]] std::unique_ptr<Denoiser> make_reference_denoiser(const Weights& weights, const EngineOptions& options);

}  // namespace pb
