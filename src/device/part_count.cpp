#include "device/part_count.hpp"

#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <span>

namespace pb::device {
namespace {

template <class Bits>
void count_on_cpu(const Bits* bits, const PartValues<Bits>& values, std::span<PartCount> counts) {
    int64_t image = 0;
    for (PartCount& count : counts) {
        for (int64_t pixel = 0; pixel < count.part.extent.pixels(); ++pixel)
            count.not_finite += values.count_not_finite(bits, image, count.part, pixel);
        ++image;
    }
}

void require_countable(const BatchView& network, int64_t num_counts, const Stream& stream) {
    constexpr DType kTypes[] = {DType::f32, DType::bf16, DType::f16};
    require(std::ranges::find(kTypes, network.dtype) != std::end(kTypes) && network.device == stream.device(),
            "values that are not finite are counted in f32, bf16 and f16 on the stream's device");
    require(network.shape.n == 1 || num_counts <= network.shape.n, "a batch has one part of each image");
}

}  // namespace

void count_not_finite(const BatchView& network, PartCount* counts, int64_t num_counts, Stream& stream) {
    require_countable(network, num_counts, stream);
    if (num_counts == 0) return;
    if (stream.device().is_cuda()) return cuda::count_not_finite(network, counts, num_counts, stream.native());
    with_bits(network, [&]<class Bits>(const Bits* bits) {
        count_on_cpu(bits, PartValues<Bits>(network), {counts, static_cast<size_t>(num_counts)});
    });
}

}  // namespace pb::device
