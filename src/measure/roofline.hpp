// The network's speed against what was measured as possible on the same ranks: matrix product, 3x3 convolution, copies
// of the device. Method: Williams, Waterman, Patterson, "Roofline" (CACM 2009). Pure.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

/// FLOP and bytes that the network's layers take for a pixel of their input: 2 MAC, and every value that they read or
/// write once, in the precision that it is stored in.
[[nodiscard]] double flop_per_pixel(const Point& point);
[[nodiscard]] double bytes_per_pixel(const Point& point);

/// A level that the points cannot exceed: rising with the copies up to the ridge, flat from there on.
struct Roof {
    double tflops = 0;
    double ridge_flop_per_byte = 0;
};

/// Points of one device kind and precision under one pair of roofs. Bounds are the least over points and ranks: what
/// every one of them could have reached.
struct Roofline {
    struct Sample {
        int64_t point = 0;         // index
        double flop_per_byte = 0;  // arithmetic intensity
        double tflops = 0;         // of the network alone, one rank
    };
    DeviceKind device = DeviceKind::cpu;
    Precision dtype = Precision::fp32;
    double copy_gb_per_s = 0;
    std::optional<Roof> matmul, conv;
    std::vector<Sample> points;
};

/// In the order of the study. Points whose network was not timed alone, or whose bounds were not measured, have none.
[[nodiscard]] std::vector<Roofline> find_rooflines(const std::vector<PointTrace>& traces,
                                                   const std::vector<Summary>& summaries);

}  // namespace pb
