// cuDNN compiles some of its kernels while it runs. It opens libnvrtc, which opens libnvrtc-builtins by name in its
// turn: a program with an RPATH finds that in the wheel's folder, one with a RUNPATH does not, and cuDNN then does
// without those kernels in silence.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <nvrtc.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace pb::engine {
namespace {

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
}

/// The folder of the loaded library whose path contains `part`; empty when none was loaded.
std::filesystem::path folder_of_loaded(std::string_view part) {
    struct Search {
        std::string_view part;
        std::filesystem::path found;
    } search{part, {}};
    const auto visit = [](dl_phdr_info* info, size_t /*bytes*/, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (std::string_view(info->dlpi_name).find(wanted.part) == std::string_view::npos) return 0;
        wanted.found = std::filesystem::path(info->dlpi_name).parent_path();
        return 1;
    };
    (void)dl_iterate_phdr(visit, &search);
    return search.found;
}

TEST(RuntimeCompiler, FindsItsBuiltinsWithoutHelpFromTheEnvironment) {
    void* library = dlopen("libnvrtc.so.13", RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    nvrtcProgram program = nullptr;
    ASSERT_EQ(find<decltype(nvrtcCreateProgram)>(library, "nvrtcCreateProgram")(
                  &program, "__global__ void add(float* x) { *x += 1; }", "add.cu", 0, nullptr, nullptr),
              NVRTC_SUCCESS);
    const nvrtcResult compiled =
        find<decltype(nvrtcCompileProgram)>(library, "nvrtcCompileProgram")(program, 0, nullptr);
    EXPECT_EQ(compiled, NVRTC_SUCCESS) << find<decltype(nvrtcGetErrorString)>(library, "nvrtcGetErrorString")(compiled);
    EXPECT_EQ(folder_of_loaded("/libnvrtc-builtins."), folder_of_loaded("/libnvrtc.so"))
        << "a CUDA of this machine's own stands in for the wheel's";
    EXPECT_EQ(find<decltype(nvrtcDestroyProgram)>(library, "nvrtcDestroyProgram")(&program), NVRTC_SUCCESS);
}

}  // namespace
}  // namespace pb::engine
