#include "blend_on_device.hpp"

#include "device/cuda/check.hpp"
#include "launch_kernel.cuh"
#include "support/blend_denoiser.hpp"

namespace pb::fakes {
namespace {

__global__ void blend(const std::byte* in, std::byte* out, test::BlendWindows windows) {
    const int64_t first =
        static_cast<int64_t>(device::cuda::blockIdx.x) * device::cuda::blockDim.x + device::cuda::threadIdx.x;
    const int64_t stride = static_cast<int64_t>(device::cuda::gridDim.x) * device::cuda::blockDim.x;
    for (int64_t i = first; i < windows.out.elements(); i += stride) test::blend_value(in, out, windows, i);
}

}  // namespace

void BlendOnDevice::prepare(const BatchView& in, const BatchView& out, device::Stream& stream) {
    forward(in, out, stream);
    stream.synchronise();
}

void BlendOnDevice::forward(const BatchView& in, const BatchView& out, device::Stream& stream) {
    constexpr unsigned kBlocks = 4;
    constexpr unsigned kThreads = 32;
    const device::cuda::DeviceScope scope(in.device.index);
    device::cuda::launch_kernel(blend, kBlocks, kThreads, static_cast<cudaStream_t>(stream.native()),
                                static_cast<const std::byte*>(in.pointer), static_cast<std::byte*>(out.pointer),
                                test::BlendWindows(in, out));
    device::check(cudaGetLastError());
}

}  // namespace pb::fakes
