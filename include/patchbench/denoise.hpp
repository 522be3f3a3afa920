// Denoises an image in memory, in this process, on one device: what `patchbench denoise` does with one rank, bit for
// bit. Neither MPI_Init nor a launcher is needed. Each call builds the network and reads its weights; a program that
// denoises many small images saves that by `make_denoiser` and `TileGrid`.
#pragma once

#include "patchbench/base/device_id.hpp"
#include "patchbench/base/shape.hpp"
#include "patchbench/network/network_shape.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <variant>
#include <vector>

namespace pb {

/// Dense rows, channels interleaved: value c of pixel (y, x) is values[(y * extent.w + x) * channels + c]. In [0,1].
struct FloatImageView {
    const float* values = nullptr;
    Extent extent;
    int64_t channels = 3;  // 1 or 3
};

/// In the same order; values may lie somewhat outside of [0,1].
struct FloatImage {
    std::vector<float> values;
    Extent extent;
    int64_t channels = 3;
};

/// Trained weights: .safetensors, .pth or .onnx.
struct WeightsFile {
    std::filesystem::path path;
    network::NetworkKind network = network::kind_of<network::DrunetShape>();
    std::optional<double> trained_sigma = {};  // of a network for one noise level, 0.0001 to 1; not given: what the
                                               // file says
};

/// A network with pseudo-random weights, for tests and for timing: its output is of no other use.
struct UntrainedNetwork {
    network::NetworkShape shape;
    uint64_t seed = 0;
};

struct DenoiseOptions {
    std::variant<WeightsFile, UntrainedNetwork> network;
    std::optional<double> sigma = {};  // standard deviation of the noise: 0, or 0.0001 to 1; not given: estimated
    int64_t patch = 256;               // pixels; a multiple of the network's alignment
    std::optional<int64_t> halo = {};  // pixels, such a multiple; 0: none; not given: the exact one
    int64_t batch = 4;                 // windows in one forward call
    DeviceId device = {};              // the CPU, or {DeviceKind::cuda, n}
    Precision precision = Precision::fp32;
    int threads = 0;  // on a CPU those that compute, on a GPU those that cut windows; 0: one for each processor that
                      // this process may use. The calling thread keeps the number for what it does afterwards
};

/// The denoised image, of the same extent. Throws UsageError for options that are not possible or do not fit the image,
/// for values that are not finite, and where sigma is estimated and would be above 1; OutOfMemory, or std::bad_alloc
/// where the host has no memory for the output; IndexLimit for windows too large for LibTorch's indices; and Error
/// where the output is not finite, as that of values far outside of [0,1].
[[nodiscard]] FloatImage denoise(const FloatImageView& image, const DenoiseOptions& options);

}  // namespace pb
