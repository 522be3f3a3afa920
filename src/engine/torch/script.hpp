// A network that the user brings as TorchScript, run by LibTorch's interpreter in this process. It is code, and was
// trusted before it came here.
#pragma once

#include "engine/torch/placement.hpp"

#include "patchbench/engine/weights.hpp"

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace pb::engine::torch_engine {

/// The first calls of a shape record types and shapes, then the interpreter compiles.
inline constexpr int kScriptWarmUpCalls = 2;

class Script {
  public:
    /// Reads the file of `weights`, which has a card, onto the device of `placement`. Throws Error that says what is
    /// wrong with it.
    Script(const Weights& weights, const Placement& placement);

    /// out = script(in). The last channel of `in` is its second input where the card says so: one number a window.
    /// Throws Error with the last line of what the script says, or c10::OutOfMemoryError. Call under InferenceMode.
    void run(const at::Tensor& in, at::Tensor& out);

  private:
    std::string file_;
    torch::jit::Module module_;
    bool takes_level_;
};

}  // namespace pb::engine::torch_engine
