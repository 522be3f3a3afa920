#include "engine/torch_library.hpp"

#include "engine/compute_rates.hpp"
#include "engine/counting_memory.hpp"

#include "patchbench/base/error.hpp"

#include <dlfcn.h>

namespace pb::engine {

namespace {

/// Found by the program's own search path.
const char* file_name() {
    return device::visible_cuda_devices().empty() ? "libpatchbench_torch.so" : "libpatchbench_torch_cuda.so";
}

[[noreturn]] void refuse() {
    const char* why = dlerror();
    throw Error(std::string("engine: LibTorch cannot be loaded: ") + (why == nullptr ? file_name() : why) +
                "; build patchbench again (launch/setup.sh), or choose an engine that does without (engine: native, "
                "--verify none)");
}

const TorchLibrary& load() {
    // Global, as if the program linked it: packages of AOTInductor look for LibTorch's functions. Never closed.
    void* library = dlopen(file_name(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) refuse();
    auto* entry = reinterpret_cast<TorchEntry*>(dlsym(library, kTorchEntry));
    if (entry == nullptr) refuse();
    return *entry(counting_memory());
}

}  // namespace

const TorchLibrary& torch_library() {
    static const TorchLibrary& loaded = load();
    return loaded;
}

std::vector<device::LibraryVersion> engine_versions() { return torch_library().versions(); }

double matmul_tflops(const EngineOptions& options, double budget_s) {
    return torch_library().matmul_tflops(options, budget_s);
}

double conv_tflops(const EngineOptions& options, double budget_s) {
    return torch_library().conv_tflops(options, budget_s);
}

}  // namespace pb::engine
