// TorchScript.
#include "engine/torch/code.hpp"

#include "patchbench/base/error.hpp"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

namespace pb::engine::torch_engine {

namespace {

class Script final : public Code {
  public:
    Script(const Weights& weights, const Placement& placement) : Code(weights) {
        guarded(file() + " is no TorchScript that LibTorch reads", [&] {
            module_ = torch::jit::load(file(), placement.options.device());
            module_.eval();
        });
    }

  private:
    [[nodiscard]] at::Tensor call(const std::vector<at::Tensor>& inputs) override {
        const c10::IValue result = module_.forward({inputs.begin(), inputs.end()});
        if (!result.isTensor())
            throw Error("engine torch: " + file() + " gave " + result.tagKind() + " instead of a tensor");
        return result.toTensor();
    }

    torch::jit::Module module_;
};

}  // namespace

std::unique_ptr<Code> make_script(const Weights& weights, const Placement& placement) {
    return std::make_unique<Script>(weights, placement);
}

}  // namespace pb::engine::torch_engine
