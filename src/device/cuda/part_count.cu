// The kernel that counts values which are not finite.
#include "device/cuda/backend.hpp"
#include "device/cuda/check.hpp"
#include "device/part_count.hpp"
#include "launch_kernel.cuh"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace pb::device::cuda {
namespace {

/// `blocks` blocks for each part. A thread adds what it has found once, and mostly it has found nothing.
template <class Bits>
__global__ void count_parts(const Bits* __restrict__ bits, PartCount* counts, PartValues<Bits> values,
                            unsigned blocks) {
    const unsigned number = blockIdx.x / blocks;
    const Rect part = counts[number].part;
    const int64_t stride = static_cast<int64_t>(blocks) * blockDim.x;
    uint32_t found = 0;
    for (int64_t pixel = static_cast<int64_t>(blockIdx.x % blocks) * blockDim.x + threadIdx.x;
         pixel < part.extent.pixels(); pixel += stride)
        found += values.count_not_finite(bits, number, part, pixel);
    if (found > 0) atomicAdd(&counts[number].not_finite, found);
}

/// For each part: enough for one that is a whole image, and all together about what fills a device.
unsigned blocks_for(const BatchView& network, int64_t num_counts, unsigned threads) {
    constexpr int64_t kFilled = 1024;
    const int64_t most = std::max<int64_t>(1, kFilled / num_counts);
    return static_cast<unsigned>(std::clamp<int64_t>(ceil_div(network.shape.h * network.shape.w, threads), 1, most));
}

}  // namespace

void count_not_finite(const BatchView& network, PartCount* counts, int64_t num_counts, void* stream) {
    constexpr unsigned kThreads = 256;
    const DeviceScope scope(network.device.index);
    const unsigned blocks = blocks_for(network, num_counts, kThreads);
    with_bits(network, [&]<class Bits>(const Bits* bits) {
        launch_kernel(count_parts<Bits>, static_cast<unsigned>(num_counts) * blocks, kThreads,
                      static_cast<cudaStream_t>(stream), bits, counts, PartValues<Bits>(network), blocks);
    });
    check(cudaGetLastError());
}

}  // namespace pb::device::cuda
