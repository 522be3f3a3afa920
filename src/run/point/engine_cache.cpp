#include "run/point/engine_cache.hpp"

#include "comm/shared/node_memory.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <tuple>

namespace pb::run {

std::shared_ptr<SharedBlocks> make_shared_blocks(const comm::Communicator& world, const plan::Topology& topology) {
    const comm::Communicator node =
        world.split(topology.ranks.at(static_cast<size_t>(world.rank())).node, world.rank());
    if (node.size() == 1) return nullptr;
    try {
        return std::make_shared<comm::NodeBlocks>(node);
    } catch (const Error&) {  // on all ranks of the node, such as those in containers of their own
        return nullptr;
    }
}

namespace {

constexpr size_t kMostKept = 4;  // the engine and that of the verification, for gray and for colour images

auto fields(const engine::EngineOptions& options) {
    return std::tie(options.engine, options.device, options.precision, options.layout, options.threads,
                    options.cudnn_benchmark, options.cuda_graph, options.fusion, options.winograd_tile, options.shared,
                    options.worker.file, options.worker.options);
}

}  // namespace

std::shared_ptr<engine::Denoiser> EngineCache::find(const std::shared_ptr<const engine::Weights>& weights,
                                                    const engine::EngineOptions& options) {
    if (!keeps_ || options.device.is_cuda()) return engine::make_denoiser(*weights, options);
    std::erase_if(kept_, [](const Kept& each) { return each.engine->has_ended(); });  // by the image that it failed on
    const auto found = std::ranges::find_if(
        kept_, [&](const Kept& each) { return each.weights == weights && fields(each.options) == fields(options); });
    if (found != kept_.end()) return found->engine;
    if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
    return kept_.emplace_back(Kept{weights, options, engine::make_denoiser(*weights, options)}).engine;
}

}  // namespace pb::run
