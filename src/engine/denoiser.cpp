#include "patchbench/engine/denoiser.hpp"

#include "base/engine_support.hpp"
#include "engine/engines.hpp"
#include "engine/torch_library.hpp"

#include <fmt/format.h>

namespace pb::engine {

std::unique_ptr<Denoiser> make_denoiser(const Weights& weights, const EngineOptions& options) {
    const Layers layers = weights.has_layers() ? Layers::known : Layers::unknown;
    if (weights.card && !runs_file(options.engine, weights.source, layers))
        throw UsageError(fmt::format("engine = {}: does not know the network '{}'; choose {}", name_of(options.engine),
                                     weights.source, engines_of_file_text(weights.source, layers)));
    const std::string refusal =
        precision_refusal(options.engine, std::string(name_of(options.engine)), options.device.kind, options.precision);
    if (!refusal.empty()) throw UsageError(refusal);
    switch (options.engine) {
        case EngineKind::torch: return torch_library().make_denoiser(weights, options);
        case EngineKind::native: return make_native_denoiser(weights, options);
        case EngineKind::reference: return make_reference_denoiser(weights, options);
        case EngineKind::timed: throw UsageError("engine = timed: has no network; only studies can be simulated");
        default: return worker_engine::make_worker_denoiser(weights, options);
    }
}

}  // namespace pb::engine
