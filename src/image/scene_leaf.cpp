#include "image/scene_leaf.hpp"

#include "image/portable_math.hpp"

#include <algorithm>

namespace pb::image {
namespace {

float between(float low, float high, uint32_t word) { return low + (high - low) * unit_uniform(word); }

/// Gratings have periods of 5 pixels or more. Only a share of the leaves has one, so that most of a scene is smooth, as
/// in photographs.
void set_grating(Leaf& leaf, const std::array<uint32_t, 4>& words) {
    constexpr float kShare = 0.3F;
    if (unit_uniform(words[0]) > kShare) return;
    const float frequency = 1.0F / between(5.0F, 30.0F, words[1]);
    const SineCosine direction = portable_sincos(unit_uniform(words[2]));
    leaf.grating_amplitude = between(0.01F, 0.05F, words[3]);
    leaf.grating_x = frequency * direction.cosine;
    leaf.grating_y = frequency * direction.sine;
}

void set_shade(Leaf& leaf, const std::array<uint32_t, 4>& words) {
    const float gray = between(0.12F, 0.88F, words[0]);
    for (size_t c = 0; c < 3; ++c)
        leaf.shade[c] = gray + between(-0.15F, 0.15F, words[1] * static_cast<uint32_t>(2 * c + 1));
    leaf.slope = between(-0.12F, 0.12F, words[2]);
    leaf.rectangle = (words[3] & 0x100U) != 0;
}

struct Columns {  // column indices relative to the leaf's cell
    int begin = 0;
    int end = 0;
};

/// Returns the share of a pixel that lies in the leaf. The edge of a leaf is a ramp of one pixel.
template <bool Rectangle>
float coverage(const Leaf& leaf, float u, float v) {
    float inside = 0;
    if constexpr (Rectangle) {
        inside = smaller(leaf.half_u - std::abs(u), leaf.half_v - std::abs(v));
    } else {
        const float a = u / leaf.half_u;
        const float b = v / leaf.half_v;
        inside = (1.0F - std::sqrt(a * a + b * b)) * leaf.half_v;
    }
    return smaller(larger(inside + 0.5F, 0.0F), 1.0F);
}

/// The effect of a leaf on a run of pixels: pixel += cover * (shade + offset - pixel).
constexpr int kRun = 128;
struct Paint {
    std::array<float, kRun> cover;
    std::array<float, kRun> offset;
};

template <bool Rectangle>
void make_paint(const Leaf& leaf, float y, Columns columns, Paint& paint) {
    const float slope = leaf.slope / leaf.half_u;
    for (int i = 0; i < columns.end - columns.begin; ++i) {
        const float dx = static_cast<float>(columns.begin + i) - leaf.centre_x;
        const float u = leaf.cosine * dx + leaf.sine * y;
        const float v = leaf.cosine * y - leaf.sine * dx;
        paint.cover[static_cast<size_t>(i)] = coverage<Rectangle>(leaf, u, v);
        paint.offset[static_cast<size_t>(i)] = slope * u;
    }
    if (leaf.grating_amplitude == 0.0F) return;
    for (int i = 0; i < columns.end - columns.begin; ++i) {
        const float dx = static_cast<float>(columns.begin + i) - leaf.centre_x;
        const float turns = leaf.grating_x * dx + leaf.grating_y * y;
        paint.offset[static_cast<size_t>(i)] += leaf.grating_amplitude * portable_sincos(turns).sine;
    }
}

template <int Channels>
void apply(const Paint& paint, const std::array<float, 3>& shade, int count, float* pixels) {
    for (int i = 0; i < count; ++i)
        for (int c = 0; c < Channels; ++c) {
            float& pixel = pixels[i * Channels + c];
            const auto at = static_cast<size_t>(i);
            pixel += paint.cover[at] * (shade[static_cast<size_t>(c)] + paint.offset[at] - pixel);
        }
}

}  // namespace

Leaf make_leaf(uint64_t seed, const LeafLevel& level, int64_t cell_row, int64_t cell_column) {
    constexpr uint32_t kBlocksPerLeaf = 4;
    const auto words = [&](uint32_t block) {
        return random_block(seed, RandomStream::leaves, cell_row, cell_column, level.index * kBlocksPerLeaf + block);
    };
    Leaf leaf;
    const auto place = words(0);
    leaf.present = unit_uniform(place[0]) < level.presence;
    if (!leaf.present) return leaf;
    const auto cell = static_cast<float>(level.cell);
    leaf.row = cell_row * level.cell;
    leaf.column = cell_column * level.cell;
    leaf.centre_y = cell * unit_uniform(place[1]);
    leaf.centre_x = cell * unit_uniform(place[2]);
    const auto form = words(1);
    leaf.half_u = cell * between(0.25F, 0.5F, form[0]);
    leaf.half_v = leaf.half_u * between(0.3F, 1.0F, form[1]);
    const SineCosine direction = portable_sincos(unit_uniform(form[2]));
    leaf.cosine = direction.cosine;
    leaf.sine = direction.sine;
    set_shade(leaf, words(2));
    set_grating(leaf, words(3));
    return leaf;
}

void paint_leaf_row(const Leaf& leaf, int64_t row, int64_t column, int64_t count, int64_t channels, float* pixels) {
    const float y = static_cast<float>(row - leaf.row) - leaf.centre_y;
    const float squared = leaf.radius() * leaf.radius() - y * y;
    if (squared <= 0.0F) return;
    // Only columns that the leaf can cover. They are counted from the leaf's cell, so that every window computes the
    // same values.
    const float half = std::sqrt(squared);
    const int64_t first = leaf.column + static_cast<int64_t>(std::floor(leaf.centre_x - half));
    const int64_t last = leaf.column + static_cast<int64_t>(std::ceil(leaf.centre_x + half)) + 1;
    const int64_t begin = std::max(column, first);
    const int64_t end = std::min(column + count, last);
    if (begin >= end) return;
    for (int64_t run = begin; run < end; run += kRun) {
        const int length = static_cast<int>(std::min<int64_t>(kRun, end - run));
        const auto offset = static_cast<int>(run - leaf.column);
        Paint paint;
        (leaf.rectangle ? make_paint<true> : make_paint<false>)(leaf, y, {offset, offset + length}, paint);
        (channels == 1 ? apply<1> : apply<3>)(paint, leaf.shade, length, pixels + (run - column) * channels);
    }
}

}  // namespace pb::image
