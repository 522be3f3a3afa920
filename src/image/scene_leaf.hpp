// One leaf of a synthetic scene: an ellipse or rectangle in any direction, with a shade, a gradient and possibly a
// grating.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace pb::image {

/// The leaves of one size. Square cells tile the plane; each cell holds at most one leaf, which is about as large as
/// the cell.
struct LeafLevel {
    int64_t cell = 0;    // edge in pixels
    float presence = 0;  // probability that a cell has a leaf
    uint32_t index = 0;
};

struct Leaf {
    bool present = false;
    bool rectangle = false;
    int64_t row = 0;  // centre = (row + centre_y, column + centre_x)
    int64_t column = 0;
    float centre_y = 0;
    float centre_x = 0;
    float cosine = 1;  // direction of the first half axis (cosine, sine)
    float sine = 0;
    float half_u = 1;  // half axes in pixels; half_u >= half_v
    float half_v = 1;
    std::array<float, 3> shade{};
    float slope = 0;  // change of shade along half an axis
    float grating_amplitude = 0;
    float grating_x = 0;  // in turns per pixel
    float grating_y = 0;

    /// No pixel further from the centre than this is changed. It is less than a cell for cells of 8 pixels or more.
    [[nodiscard]] float radius() const { return std::sqrt(half_u * half_u + half_v * half_v) + 1.0F; }
};

[[nodiscard]] Leaf make_leaf(uint64_t seed, const LeafLevel& level, int64_t cell_row, int64_t cell_column);

/// Paints the leaf over `count` pixels of row `row`, starting at `column`. `pixels` holds `channels` interleaved f32
/// values per pixel.
void paint_leaf_row(const Leaf& leaf, int64_t row, int64_t column, int64_t count, int64_t channels, float* pixels);

}  // namespace pb::image
