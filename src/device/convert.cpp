#include "device/convert.hpp"

#include "base/half.hpp"
#include "base/text.hpp"
#include "device/cuda/backend.hpp"
#include "device/rows.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

namespace pb::device {
namespace {

std::string text(const BatchView& view) {
    const Shape& s = view.shape;
    return fmt::format("{} n{} c{} h{} w{} {} on {}:{}", name_of(view.dtype), s.n, s.c, s.h, s.w, name_of(view.layout),
                       name_of(view.device.kind), view.device.index);
}

/// `extra`: channels that the network's view has beyond the samples'.
void require_matching(const BatchView& samples, const BatchView& network, int64_t extra, const Stream& stream) {
    Shape expected = samples.shape;
    expected.c += extra;
    const bool sample_type = !is_float(samples.dtype) || samples.dtype == DType::f32;
    const bool network_type =
        network.dtype == DType::f32 || network.dtype == DType::bf16 || network.dtype == DType::f16;
    const bool same_device = samples.device == stream.device() && network.device == stream.device();
    require(
        sample_type && network_type && same_device && network.shape == expected &&
            samples.layout == Layout::channels_last,
        fmt::format("conversion between samples {} and network {} with {}: the samples must be u8, u16 or f32 "
                    "in channels_last, the network f32, bf16 or f16 of the same n, h, w, both on the stream's device",
                    text(samples), text(network), counted(extra, "extra channel")));
}

/// Values of a block that is converted through f32: stays in the first-level cache.
constexpr int64_t kBlockValues = 2048;
using Block = std::array<float, kBlockValues>;

void store_value(float value, DType dtype, void* buffer, int64_t index) {
    if (dtype == DType::f32)
        static_cast<float*>(buffer)[index] = value;
    else
        static_cast<uint16_t*>(buffer)[index] = dtype == DType::bf16 ? bf16_bits(value) : f16_bits(value);
}

float load_value(DType dtype, const void* buffer, int64_t index) {
    if (dtype == DType::f32) return static_cast<const float*>(buffer)[index];
    const uint16_t bits = static_cast<const uint16_t*>(buffer)[index];
    return dtype == DType::bf16 ? bf16_value(bits) : f16_value(bits);
}

/// Where value `c` of pixel `pixel` of image `n` lies.
int64_t index_of(const Strides& strides, int64_t n, int64_t pixel, int64_t c) {
    return n * strides.n + c * strides.c + pixel * strides.w;
}

std::byte* pixel_address(const BatchView& samples, int64_t n, int64_t pixel) {
    const int64_t index = index_of(strides_of(samples.shape, samples.layout), n, pixel, 0);
    return static_cast<std::byte*>(samples.pointer) + index * size_of(samples.dtype);
}

/// Calls `visit(n, first pixel, number of pixels)` for blocks of at most `kBlockValues` values of `network`.
template <class Visit>
void for_each_block(const BatchView& network, const Visit& visit) {
    const int64_t pixels = network.shape.h * network.shape.w;
    const int64_t block = kBlockValues / network.shape.c;
    require(block > 0, "conversion of " + text(network) + ": too many channels");
    for (int64_t n = 0; n < network.shape.n; ++n)
        for (int64_t first = 0; first < pixels; first += block) visit(n, first, std::min(block, pixels - first));
}

/// f32 in channels_last: rows follow each other without gaps, so a batch is one long row.
bool is_one_row(const BatchView& network) {
    return network.dtype == DType::f32 && network.layout == Layout::channels_last;
}

void samples_to_network_on_cpu(const BatchView& samples, const BatchView& network, const Conversion& conversion) {
    const int64_t channels = samples.shape.c;
    if (is_one_row(network))
        return convert_row_to_f32(samples.pointer, samples.dtype, samples.shape.pixels(), channels, conversion,
                                  static_cast<float*>(network.pointer));
    Block block;
    const Strides strides = strides_of(network.shape, network.layout);
    for_each_block(network, [&](int64_t n, int64_t first, int64_t count) {
        convert_row_to_f32(pixel_address(samples, n, first), samples.dtype, count, channels, conversion, block.data());
        for (int64_t c = 0; c < network.shape.c; ++c)
            for (int64_t i = 0; i < count; ++i)
                store_value(block[i * network.shape.c + c], network.dtype, network.pointer,
                            index_of(strides, n, first + i, c));
    });
}

void network_to_samples_on_cpu(const BatchView& network, const BatchView& samples, const Conversion& conversion) {
    const int64_t channels = samples.shape.c;
    if (is_one_row(network))
        return convert_row_from_f32(static_cast<const float*>(network.pointer), samples.shape.pixels(), channels,
                                    conversion, samples.dtype, samples.pointer);
    Block block;
    const Strides strides = strides_of(network.shape, network.layout);
    for_each_block(network, [&](int64_t n, int64_t first, int64_t count) {
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t i = 0; i < count; ++i)
                block[i * channels + c] =
                    load_value(network.dtype, network.pointer, index_of(strides, n, first + i, c));
        convert_row_from_f32(block.data(), count, channels, conversion, samples.dtype,
                             pixel_address(samples, n, first));
    });
}

/// Asks for a row's cache lines before they are used: rows of a window lie pages apart, and the processor's own
/// prefetch starts again at each. Without it a third of the speed is lost.
void prefetch(const std::byte* row, int64_t bytes) {
    constexpr int64_t kLine = 64;
    constexpr int64_t kMost = 4096;  // the processor prefetches the rest of a longer row
    for (int64_t offset = 0; offset < std::min(bytes, kMost); offset += kLine) __builtin_prefetch(row + offset);
}

/// Calls `visit` with the loops for samples of `dtype` and a value of that type.
template <class Visit>
void with_row_kernels(DType dtype, const Visit& visit) {
    static const AllRowKernels kernels = find_row_kernels();
    switch (dtype) {
        case DType::u8: return visit(std::get<RowKernels<uint8_t>>(kernels), uint8_t{});
        case DType::u16: return visit(std::get<RowKernels<uint16_t>>(kernels), uint16_t{});
        case DType::f32: return visit(std::get<RowKernels<float>>(kernels), float{});
        default:
            throw Error("samples of type " + std::string(name_of(dtype)) +
                        " cannot be converted: only u8, u16 and f32");
    }
}

}  // namespace

void convert_row_to_f32(const void* samples, DType dtype, int64_t count, int64_t channels, const Conversion& conversion,
                        float* network) {
    const RowScale scale{conversion.gain, conversion.sigma.value_or(0.0F), conversion.sigma.has_value()};
    with_row_kernels(dtype, [&](const auto& rows, auto sample) {
        rows.to_f32(static_cast<const decltype(sample)*>(samples), count, channels, scale, network);
    });
}

void convert_row_from_f32(const float* network, int64_t count, int64_t channels, const Conversion& conversion,
                          DType dtype, void* samples) {
    with_row_kernels(dtype, [&](const auto& rows, auto sample) {
        rows.from_f32(network, count * channels, 1.0F / conversion.gain, static_cast<decltype(sample)*>(samples));
    });
}

void convert_rows_to_f32(const PixelView& samples, const Conversion& conversion, float* network,
                         int64_t network_stride) {
    const int64_t width_bytes = samples.extent.w * static_cast<int64_t>(samples.pixel_bytes());
    for (int64_t i = 0; i < samples.extent.h; ++i, network += network_stride) {
        if (i + 1 < samples.extent.h) prefetch(samples.row(i + 1), width_bytes);
        convert_row_to_f32(samples.row(i), samples.dtype, samples.extent.w, samples.channels, conversion, network);
    }
}

void convert_rows_from_f32(const float* network, int64_t network_stride, const Conversion& conversion,
                           const MutablePixelView& samples) {
    for (int64_t i = 0; i < samples.extent.h; ++i, network += network_stride)
        convert_row_from_f32(network, samples.extent.w, samples.channels, conversion, samples.dtype, samples.row(i));
}

void samples_to_network(const BatchView& samples, const BatchView& network, const Conversion& conversion,
                        Stream& stream) {
    require_matching(samples, network, conversion.sigma ? 1 : 0, stream);
    if (samples.shape.elements() == 0) return;
    if (stream.device().is_cuda())
        cuda::samples_to_network(samples, network, conversion, stream.native());
    else
        samples_to_network_on_cpu(samples, network, conversion);
}

void network_to_samples(const BatchView& network, const BatchView& samples, const Conversion& conversion,
                        Stream& stream) {
    require_matching(samples, network, 0, stream);
    if (samples.shape.elements() == 0) return;
    if (stream.device().is_cuda())
        cuda::network_to_samples(network, samples, conversion, stream.native());
    else
        network_to_samples_on_cpu(network, samples, conversion);
}

}  // namespace pb::device
