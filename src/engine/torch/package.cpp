// A package of AOTInductor (.pt2): a library of machine code for one kind of device, its weights inside.
#include "base/mapped.hpp"
#include "engine/network_file.hpp"
#include "engine/torch/code.hpp"
#include "engine/torch/tensors.hpp"

#include "patchbench/base/error.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/Device.h>
#include <c10/util/strides.h>
#include <fmt/format.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdlib>
#include <mutex>
#include <sstream>

namespace pb::engine::torch_engine {

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;

/// Compiled code reads and writes windows of the extents and strides that it was compiled for, whatever it is given,
/// unless this variable is set.
void make_packages_check_inputs() {
    static std::once_flag once;
    std::call_once(once, [] { ::setenv("AOTI_RUNTIME_CHECK_INPUTS", "1", 1); });
}

/// The strides that torch.export sees: those of a dense NCHW tensor, also along axes of extent 1.
at::Tensor as_exported(const at::Tensor& tensor) {
    const auto strides = c10::contiguous_strides(tensor.sizes());
    if (tensor.strides() == c10::IntArrayRef(strides)) return tensor;
    at::Tensor dense = at::empty_strided(tensor.sizes(), strides, tensor.options());
    dense.copy_(tensor);
    return dense;
}

class Package final : public Code {
  public:
    Package(const Weights& weights, const Placement& placement) : Code(weights) {
        if (!is_compiled_package(file()))
            throw UsageError(file() +
                             " is a package of torch.export, which engine torch does not run: choose engine: pytorch, "
                             "or compile it with torch._inductor.aoti_compile_and_package");
        make_packages_check_inputs();
        const c10::Device device = placement.options.device();
        guarded(file() + " is no package that LibTorch reads", [&] { check_device(device); });
        guarded("LibTorch cannot load the code in " + file(),
                [&] { loader_ = std::make_unique<Loader>(file(), kName, false, 1, device.index()); });
    }

  private:
    static constexpr const char* kName = "model";

    void check_device(c10::Device device) const {
        const auto facts = Loader::load_metadata_from_package(file(), kName);
        const auto compiled_for = facts.find("AOTI_DEVICE_KEY");
        const std::string wanted = c10::DeviceTypeName(device.type(), true);
        if (compiled_for == facts.end() || compiled_for->second == wanted) return;
        throw UsageError(fmt::format("{} was compiled for {}, and this is {}: choose device: {}, or compile it for {}",
                                     file(), compiled_for->second, wanted, compiled_for->second, wanted));
    }

    /// torch.export takes a batch that is dynamic for one of 2 and more, and one that is fixed is of 1.
    [[nodiscard]] at::Tensor call(const std::vector<at::Tensor>& inputs) override {
        const bool is_single = inputs.front().size(0) == 1;
        bool& otherwise = is_single ? doubles_ : splits_;
        if (!otherwise) try {
                return run_compiled(inputs);
            } catch (const Error&) {
            }
        at::Tensor output = is_single ? run_twice(inputs) : run_one_by_one(inputs);
        otherwise = true;
        return output;
    }

    [[nodiscard]] at::Tensor run_twice(const std::vector<at::Tensor>& inputs) const {
        const auto doubled = [](const at::Tensor& input) { return at::cat({input, input}); };
        return run_compiled(mapped(inputs, doubled)).narrow(0, 0, 1);
    }

    [[nodiscard]] at::Tensor run_one_by_one(const std::vector<at::Tensor>& inputs) const {
        std::vector<at::Tensor> outputs;
        for (int64_t i = 0; i < inputs.front().size(0); ++i) {
            const auto one = [&](const at::Tensor& input) { return input.narrow(0, i, 1); };
            outputs.push_back(run_compiled(mapped(inputs, one)));
        }
        return at::cat(outputs);
    }

    /// What fails in compiled code is written to standard error, not thrown.
    [[nodiscard]] at::Tensor run_compiled(std::vector<at::Tensor> inputs) const {
        for (at::Tensor& input : inputs) input = as_exported(input);
        const int64_t refused_before = tensor_memory()->num_refused();
        try {
            const std::vector<at::Tensor> outputs = loader_->run(inputs);
            if (outputs.size() == 1) return outputs.front();
        } catch (const std::exception&) {
            const bool lacks_memory = tensor_memory()->num_refused() > refused_before;
            TORCH_CHECK_WITH(OutOfMemoryError, !lacks_memory, file(), " needs more than there is");
        }
        std::ostringstream text;
        text << "engine torch: " << file() << " does not run windows of " << inputs.front().sizes()
             << ": it was not exported for them, gives more than one image, or failed (standard error says why)";
        throw Error(text.str());
    }

    std::unique_ptr<Loader> loader_;
    bool doubles_ = false, splits_ = false;  // found at the first call: one window twice, many one by one
};

}  // namespace

std::unique_ptr<Code> make_package(const Weights& weights, const Placement& placement) {
    return std::make_unique<Package>(weights, placement);
}

}  // namespace pb::engine::torch_engine
