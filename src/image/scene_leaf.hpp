// One leaf of a synthetic scene: an ellipse or a rectangle of any direction, with a shade, a slope and often a grating.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace pb {

/// Cells of one size tile the plane; each holds at most one leaf of about its size.
struct LeafLevel {
    int64_t cell = 0;    // pixels
    float presence = 0;  // probability of a leaf in a cell
    uint32_t index = 0;
};

struct Leaf {
    bool present = false;
    bool rectangle = false;
    int64_t row = 0;  // centre = (row + centre_y, column + centre_x)
    int64_t column = 0;
    float centre_y = 0;
    float centre_x = 0;
    float cosine = 1;  // direction of the first half axis
    float sine = 0;
    float half_u = 1;  // half axes, pixels; half_v is not the longer one
    float half_v = 1;
    std::array<float, 3> shade{};
    float slope = 0;  // change of shade over half an axis
    float grating_amplitude = 0;
    float grating_x = 0;  // turns a pixel
    float grating_y = 0;

    /// No pixel farther from the centre is touched; less than a cell for cells of 8 pixels and more.
    [[nodiscard]] float radius() const { return std::sqrt(half_u * half_u + half_v * half_v) + 1.0F; }
};

[[nodiscard]] Leaf make_leaf(uint64_t seed, const LeafLevel& level, int64_t cell_row, int64_t cell_column);

/// Paints the leaf over `count` pixels of row `row` from `column` on; `channels` interleaved f32 values a pixel.
void paint_leaf_row(const Leaf& leaf, int64_t row, int64_t column, int64_t count, int64_t channels, float* pixels);

}  // namespace pb
