// Conversion on the device: one kernel each way. The arithmetic is that of convert.hpp, compiled without contraction
// (CMakeLists.txt), so that it gives the CPU's bits.
#include "base/sample_value.hpp"
#include "device/cuda/backend.hpp"
#include "device/cuda/check.hpp"
#include "launch_kernel.cuh"

#include "patchbench/base/error.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>

namespace pb::device::cuda {
namespace {

__device__ void store(float value, float& out) { out = value; }
__device__ void store(float value, __nv_bfloat16& out) { out = __float2bfloat16_rn(value); }
__device__ void store(float value, __half& out) { out = __float2half_rn(value); }

__device__ float load(float value) { return value; }
__device__ float load(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ float load(__half value) { return __half2float(value); }

/// One value of the network's input from one sample.
template <class Sample, class Value>
struct ToNetwork {
    using In = Sample;
    using Out = Value;
    float gain;
    __device__ Out operator()(In sample) const {
        Out out;
        store(to_unit(sample) * gain, out);
        return out;
    }
};

/// One sample from one value of the network's output.
template <class Sample, class Value>
struct ToSample {
    using In = Value;
    using Out = Sample;
    float inverse_gain;
    __device__ Out operator()(In value) const { return from_unit<Sample>(load(value) * inverse_gain); }
};

/// `kCount` values that one instruction loads or stores (at most 16 bytes).
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
    T values[kCount];
};
constexpr int kPack = 4;

__device__ int64_t thread_index() { return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ int64_t num_threads() { return static_cast<int64_t>(gridDim.x) * blockDim.x; }

/// Same order in and out: channels_last without an extra channel is a plain array. Both pointers aligned to a pack.
template <class Convert>
__global__ void convert_array(const typename Convert::In* __restrict__ in, typename Convert::Out* __restrict__ out,
                              int64_t count, Convert convert) {
    using InPack = Pack<typename Convert::In, kPack>;
    using OutPack = Pack<typename Convert::Out, kPack>;
    const int64_t num_packs = count / kPack;
    for (int64_t i = thread_index(); i < num_packs; i += num_threads()) {
        const InPack values = reinterpret_cast<const InPack*>(in)[i];
        OutPack results;
#pragma unroll
        for (int k = 0; k < kPack; ++k) results.values[k] = convert(values.values[k]);
        reinterpret_cast<OutPack*>(out)[i] = results;
    }
    const int64_t last = num_packs * kPack + thread_index();
    if (last < count) out[last] = convert(in[last]);
}

/// One thread converts one pixel; `plane`: pixels of an image. Channels_last stores all values of a pixel by one
/// instruction.
template <int kChannels, bool kExtra, Layout kLayout, class Convert>
__global__ void spread_pixels(const typename Convert::In* __restrict__ samples,
                              typename Convert::Out* __restrict__ network, int64_t pixels, int64_t plane,
                              Convert convert, typename Convert::Out extra) {
    using Out = typename Convert::Out;
    constexpr int kOut = kChannels + (kExtra ? 1 : 0);
    for (int64_t pixel = thread_index(); pixel < pixels; pixel += num_threads()) {
        Out values[kOut];
#pragma unroll
        for (int c = 0; c < kChannels; ++c) values[c] = convert(samples[pixel * kChannels + c]);
        if constexpr (kExtra) values[kChannels] = extra;
        if constexpr (kLayout == Layout::channels_last) {
            static_assert(kExtra, "without an extra channel convert_array serves");
            Pack<Out, kOut> pack;
#pragma unroll
            for (int c = 0; c < kOut; ++c) pack.values[c] = values[c];
            reinterpret_cast<Pack<Out, kOut>*>(network)[pixel] = pack;
        } else {
            const int64_t image = pixel / plane;
            Out* first = network + image * kOut * plane + (pixel - image * plane);
#pragma unroll
            for (int c = 0; c < kOut; ++c) first[c * plane] = values[c];
        }
    }
}

/// Back from NCHW; one thread converts one pixel.
template <int kChannels, class Convert>
__global__ void collect_pixels(const typename Convert::In* __restrict__ network,
                               typename Convert::Out* __restrict__ samples, int64_t pixels, int64_t plane,
                               Convert convert) {
    for (int64_t pixel = thread_index(); pixel < pixels; pixel += num_threads()) {
        const int64_t image = pixel / plane;
        const auto* first = network + image * kChannels * plane + (pixel - image * plane);
#pragma unroll
        for (int c = 0; c < kChannels; ++c) samples[pixel * kChannels + c] = convert(first[c * plane]);
    }
}

constexpr int kThreads = 256;

/// Blocks for `work` items: enough to fill any device several times; the rest is done by the stride.
unsigned num_blocks(int64_t work) {
    return static_cast<unsigned>(std::clamp<int64_t>(ceil_div(work, kThreads), 1, 1 << 16));
}

template <class T>
void require_aligned(const void* pointer) {
    require(reinterpret_cast<uintptr_t>(pointer) % alignof(T) == 0,
            "conversion on the device: a buffer must be aligned to " + std::to_string(alignof(T)) + " bytes");
}

template <class Convert>
void launch_array(const BatchView& in, const BatchView& out, Convert convert, cudaStream_t stream) {
    require_aligned<Pack<typename Convert::In, kPack>>(in.pointer);
    require_aligned<Pack<typename Convert::Out, kPack>>(out.pointer);
    const int64_t count = in.shape.elements();
    launch_kernel(convert_array<Convert>, num_blocks(ceil_div(count, kPack)), kThreads, stream,
                  static_cast<const typename Convert::In*>(in.pointer),
                  static_cast<typename Convert::Out*>(out.pointer), count, convert);
}

/// The arguments of a launch while the functions below choose types, channels and layout.
struct Launch {
    const BatchView& samples;
    const BatchView& network;
    const Conversion& conversion;
    cudaStream_t stream;
};

template <class Value>
Value to_value(float value) {
    if constexpr (std::is_same_v<Value, float>)
        return value;
    else if constexpr (std::is_same_v<Value, __half>)
        return __float2half_rn(value);
    else
        return __float2bfloat16_rn(value);
}

template <int kChannels, bool kExtra, Layout kLayout, class Sample, class Value>
void launch_spread(const Launch& launch) {
    if constexpr (kLayout == Layout::channels_last)
        require_aligned<Pack<Value, kChannels + (kExtra ? 1 : 0)>>(launch.network.pointer);
    const Shape& shape = launch.samples.shape;
    launch_kernel(spread_pixels<kChannels, kExtra, kLayout, ToNetwork<Sample, Value>>, num_blocks(shape.pixels()),
                  kThreads, launch.stream, static_cast<const Sample*>(launch.samples.pointer),
                  static_cast<Value*>(launch.network.pointer), shape.pixels(), shape.h * shape.w,
                  ToNetwork<Sample, Value>{launch.conversion.gain},
                  to_value<Value>(launch.conversion.sigma.value_or(0.0F)));
}

template <int kChannels, class Sample, class Value>
void launch_to_network(const Launch& launch) {
    const bool extra = launch.conversion.sigma.has_value();
    const bool channels_last = launch.network.layout == Layout::channels_last;
    if (channels_last && extra) return launch_spread<kChannels, true, Layout::channels_last, Sample, Value>(launch);
    if (extra) return launch_spread<kChannels, true, Layout::contiguous, Sample, Value>(launch);
    if (!channels_last) return launch_spread<kChannels, false, Layout::contiguous, Sample, Value>(launch);
    launch_array(launch.samples, launch.network, ToNetwork<Sample, Value>{launch.conversion.gain}, launch.stream);
}

template <int kChannels, class Sample, class Value>
void launch_to_samples(const Launch& launch) {
    const ToSample<Sample, Value> convert{1.0F / launch.conversion.gain};
    if (launch.network.layout == Layout::channels_last)
        return launch_array(launch.network, launch.samples, convert, launch.stream);
    const Shape& shape = launch.samples.shape;
    launch_kernel(collect_pixels<kChannels, ToSample<Sample, Value>>, num_blocks(shape.pixels()), kThreads,
                  launch.stream, static_cast<const Value*>(launch.network.pointer),
                  static_cast<Sample*>(launch.samples.pointer), shape.pixels(), shape.h * shape.w, convert);
}

/// Calls `visit` with a value of the type that `dtype` names; the caller has checked that it is one of them.
template <class Visit>
void with_sample_type(DType dtype, const Visit& visit) {
    if (dtype == DType::u8) return visit(uint8_t{});
    if (dtype == DType::u16) return visit(uint16_t{});
    visit(float{});
}

template <class Visit>
void with_network_type(DType dtype, const Visit& visit) {
    if (dtype == DType::f16) return visit(__half{});
    if (dtype == DType::bf16) return visit(__nv_bfloat16{});
    visit(float{});
}

template <class Visit>
void with_channels(int64_t channels, const Visit& visit) {
    if (channels == 1) return visit(std::integral_constant<int, 1>{});
    require(channels == 3, "conversion on the device: 1 or 3 channels, not " + std::to_string(channels));
    visit(std::integral_constant<int, 3>{});
}

/// Calls `visit` with the types and the channel count, and reports a launch that failed.
template <class Visit>
void dispatch(const BatchView& samples, const BatchView& network, const Visit& visit) {
    const DeviceScope scope(samples.device.index);
    with_sample_type(samples.dtype, [&](auto sample) {
        with_network_type(network.dtype, [&](auto value) {
            with_channels(samples.shape.c, [&](auto channels) { visit(sample, value, channels); });
        });
    });
    check(cudaGetLastError());
}

}  // namespace

void samples_to_network(const BatchView& samples, const BatchView& network, const Conversion& conversion,
                        void* stream) {
    const Launch launch{samples, network, conversion, static_cast<cudaStream_t>(stream)};
    dispatch(samples, network, [&](auto sample, auto value, auto channels) {
        launch_to_network<decltype(channels)::value, decltype(sample), decltype(value)>(launch);
    });
}

void network_to_samples(const BatchView& network, const BatchView& samples, const Conversion& conversion,
                        void* stream) {
    const Launch launch{samples, network, conversion, static_cast<cudaStream_t>(stream)};
    dispatch(samples, network, [&](auto sample, auto value, auto channels) {
        launch_to_samples<decltype(channels)::value, decltype(sample), decltype(value)>(launch);
    });
}

}  // namespace pb::device::cuda
