// A network that the user brings as code and that runs in this process: TorchScript, by LibTorch's interpreter, or a
// package of AOTInductor, which is a library of machine code. It was trusted before it came here.
#pragma once

#include "engine/torch/tensors.hpp"

#include "patchbench/engine/weights.hpp"

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pb::engine::torch_engine {

/// While it lives, a signal that ends the process (SIGSEGV, SIGABRT, ...) in any thread first writes `sentence` to
/// standard error; then what was set for that signal before happens. One at a time.
class CrashNote {
  public:
    explicit CrashNote(std::string sentence);
    ~CrashNote();
    CrashNote(const CrashNote&) = delete;
    CrashNote& operator=(const CrashNote&) = delete;

  private:
    std::string sentence_;
};

/// The first calls of a shape record types and shapes, then the interpreter compiles.
inline constexpr int kCodeWarmUpCalls = 2;

class Code {
  public:
    Code(const Code&) = delete;
    Code& operator=(const Code&) = delete;
    virtual ~Code() = default;

    /// out = code(in). The last channel of `in` is its second input where the card says so: one number a window.
    /// Throws Error with the last line of what the code says, or c10::OutOfMemoryError. Call under InferenceMode.
    void run(const at::Tensor& in, at::Tensor& out);

  protected:
    explicit Code(const Weights& weights);
    [[nodiscard]] const std::string& file() const { return file_; }

    /// Runs `work` and throws what it throws as Error, whose text begins with `what`, or c10::OutOfMemoryError. A crash
    /// in it is told (CrashNote).
    void guarded(const std::string& what, const std::function<void()>& work) const;

  private:
    [[nodiscard]] virtual at::Tensor call(const std::vector<at::Tensor>& inputs) = 0;

    std::string file_;
    bool takes_level_;
};

/// Reads the file of `weights`, which has a card, onto the device of `placement`. Throws Error that says what is wrong
/// with it.
[[nodiscard]] std::unique_ptr<Code> make_code(const Weights& weights, const Placement& placement);
[[nodiscard]] std::unique_ptr<Code> make_package(const Weights& weights, const Placement& placement);

}  // namespace pb::engine::torch_engine
