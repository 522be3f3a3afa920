// Compares the network's speed with bounds measured on the same ranks: matrix product, 3x3 convolution, and copies on
// the device. Method: Williams, Waterman, Patterson, "Roofline" (CACM 2009). Pure.
#pragma once

#include "measure/summary.hpp"

#include <optional>
#include <vector>

namespace pb::measure {

/// FLOP of the network's layers per pixel of their input. One MAC is 2 FLOP.
[[nodiscard]] double flop_per_pixel(const plan::Point& point);

/// An upper bound of the points: it rises with the copy rate up to the ridge and is flat from there on.
struct Roof {
    double tflops = 0;
    double ridge_flop_per_byte = 0;
};

/// Points of one device kind and precision under one pair of roofs. The bounds are the least over points and ranks, so
/// every one of them could have reached them.
struct Roofline {
    struct Sample {
        int64_t point = 0;         // index
        double flop_per_byte = 0;  // arithmetic intensity
        double executed_flop_per_byte = 0;
        double tflops = 0;  // of the network alone, on one rank
        double executed_tflops = 0;
    };
    DeviceKind device = DeviceKind::cpu;
    Precision dtype = Precision::fp32;
    double copy_gb_per_s = 0;
    std::optional<Roof> matmul, conv;
    std::vector<Sample> points;
};

/// Returns the rooflines in the order of the study. Leaves out points whose network was not timed alone or whose bounds
/// were not measured.
[[nodiscard]] std::vector<Roofline> find_rooflines(const StudyPoints& points);

/// Adds upper bounds, and the percentage of them that a point reaches, to its summary. Needs summary.repetitions. FLOP
/// and bytes come from the tables of the networks.
void add_bounds(const record::PointTrace& trace, Summary& summary);

}  // namespace pb::measure
