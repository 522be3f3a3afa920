// For machines without a GPU, and builds without CUDA or the headers of cudnn-frontend.
#include "engine/torch/fusion/fusion.hpp"

#include "patchbench/base/error.hpp"

namespace pb::engine::torch_engine {

namespace {

constexpr const char* kWhyNot = "this build has no cudnn-frontend";

class NoPlans final : public FusedPlans {
  public:
    FusedOffer find(const FusedLayer&, const FusedOperands&) override { return {nullptr, kWhyNot}; }
};

}  // namespace

std::unique_ptr<FusedPlans> make_cudnn_plans(int, bool) { return std::make_unique<NoPlans>(); }

int64_t count_proposed_plans(const FusedLayer&, const std::string&) { throw Error(kWhyNot); }

}  // namespace pb::engine::torch_engine
