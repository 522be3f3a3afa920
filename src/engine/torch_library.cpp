#include "engine/torch_library.hpp"

#include "base/user_paths.hpp"
#include "engine/counting_memory.hpp"

#include "patchbench/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace pb::engine {

namespace {

/// Found by the program's own search path.
const char* file_name() {
    return device::visible_cuda_devices().empty() ? "libpatchbench_torch.so" : "libpatchbench_torch_cuda.so";
}

[[noreturn]] void refuse() {
    const char* why = dlerror();
    throw Error(fmt::format(
        "engine: LibTorch cannot be loaded: {}; the program runs from '{}': start it where launch/setup.sh built it or "
        "cmake --install installed it, with LibTorch still where it was; or choose an engine that does without it "
        "(engine: native, --verify none)",
        why == nullptr ? file_name() : why, program_folder().string()));
}

/// While LibTorch is loaded, its OpenMP reads how long threads may spin where they wait for each other: at the end of
/// every loop of every layer. Its own choice is milliseconds, in which they take the processor from the thread that
/// they wait for, where other programs run beside: a job took 4 times as long. This is what it chooses itself for more
/// threads than processors. What the user has set stays.
class BriefSpinning {
  public:
    BriefSpinning() {
        constexpr std::array kChoices{"OMP_WAIT_POLICY", kVariable};
        if (std::ranges::all_of(kChoices, [](const char* name) { return std::getenv(name) == nullptr; }))
            is_set_ = setenv(kVariable, "1000", 0) == 0;
    }
    ~BriefSpinning() {
        if (is_set_) unsetenv(kVariable);  // not for the programs that this one starts
    }
    BriefSpinning(const BriefSpinning&) = delete;

  private:
    static constexpr const char* kVariable = "GOMP_SPINCOUNT";
    bool is_set_ = false;
};

const TorchLibrary& load() {
    const BriefSpinning spinning;
    // Global, as if the program linked it: packages of AOTInductor look for LibTorch's functions. Lazy, because to bind
    // all of LibTorch's calls takes a fifth as long as to load it; the library itself is linked to bind its own at once
    // (engine/torch/CMakeLists.txt), so that another LibTorch is refused here. Never closed.
    void* library = dlopen(file_name(), RTLD_LAZY | RTLD_GLOBAL);
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

}  // namespace pb::engine
