// cuDNN compiles some of its kernels while it runs. It opens libnvrtc, which opens libnvrtc-builtins by name in its
// turn: a program with an RPATH finds that in the wheel's folder, one with a RUNPATH does not, and cuDNN then does
// without those kernels in silence.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

namespace pb {
namespace {

template <class Function>
Function* find(void* library, const char* name) {
    return reinterpret_cast<Function*>(dlsym(library, name));
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
    EXPECT_EQ(find<decltype(nvrtcDestroyProgram)>(library, "nvrtcDestroyProgram")(&program), NVRTC_SUCCESS);
}

}  // namespace
}  // namespace pb
