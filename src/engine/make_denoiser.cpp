#include "engine/reference/reference_denoiser.hpp"
#include "engine/torch/torch_denoiser.hpp"

#include "patchbench/base/error.hpp"

namespace pb {

std::unique_ptr<Denoiser> make_denoiser(const Weights& weights, const EngineOptions& options) {
    switch (options.engine) {
        case EngineKind::torch:
            return torch_engine::make_torch_denoiser(weights, options);
        case EngineKind::reference:
            return make_reference_denoiser(weights, options);
        case EngineKind::timed:
            throw UsageError("engine = timed: has no network; only studies can be simulated");
    }
    throw Error("engine: an unknown engine");
}

std::vector<LibraryVersion> engine_versions() { return torch_engine::torch_versions(); }

}  // namespace pb
