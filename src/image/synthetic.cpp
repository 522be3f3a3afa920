#include "image/synthetic.hpp"

#include "image/portable_math.hpp"
#include "image/scene_leaf.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pb::image {
namespace {

/// Leaf sizes from large to small. Later leaves cover earlier ones: a dead-leaves scene, one leaf size after the other.
constexpr std::array<LeafLevel, 6> kLevels{
    {{384, 0.8F, 0}, {192, 0.6F, 1}, {96, 0.5F, 2}, {48, 0.4F, 3}, {24, 0.2F, 4}, {12, 0.12F, 5}}};

int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

using Shades = std::array<float, 3>;

/// The background has random shades at the corners of cells of 256 pixels and is smooth between them.
constexpr int64_t kGroundCell = 256;

Shades ground_corner(uint64_t seed, int64_t row, int64_t column) {
    const auto words = random_block(seed, RandomStream::shading, row, column, 0);
    const float gray = 0.2F + 0.6F * unit_uniform(words[0]);
    Shades shades{};
    for (size_t c = 0; c < 3; ++c) shades[c] = gray + 0.3F * (unit_uniform(words[c + 1]) - 0.5F);
    return shades;
}

float smooth_step(int64_t offset) {
    const float t = static_cast<float>(offset) / static_cast<float>(kGroundCell);
    return t * t * (3.0F - 2.0F * t);
}

Shades blend(const Shades& a, const Shades& b, float t) {
    return {a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), a[2] + t * (b[2] - a[2])};
}

void fill_ground_row(uint64_t seed, int64_t row, int64_t column, int64_t count, int64_t channels, float* pixels) {
    const int64_t cell_row = floor_div(row, kGroundCell);
    const float down = smooth_step(row - cell_row * kGroundCell);
    for (int64_t x = column; x < column + count;) {
        const int64_t cell = floor_div(x, kGroundCell);
        const auto edge = [&](int64_t corner) {
            return blend(ground_corner(seed, cell_row, corner), ground_corner(seed, cell_row + 1, corner), down);
        };
        const Shades left = edge(cell);
        const Shades right = edge(cell + 1);
        for (const int64_t end = std::min((cell + 1) * kGroundCell, column + count); x < end; ++x) {
            const Shades shades = blend(left, right, smooth_step(x - cell * kGroundCell));
            for (int64_t c = 0; c < channels; ++c) *pixels++ = shades[static_cast<size_t>(c)];
        }
    }
}

void paint_leaf(const Leaf& leaf, int64_t row, int64_t column, MutablePixelView to) {
    const float top = leaf.centre_y - leaf.radius();
    const float bottom = leaf.centre_y + leaf.radius();
    const int64_t begin = std::max(row, leaf.row + static_cast<int64_t>(std::floor(top)));
    const int64_t end = std::min(row + to.extent.h, leaf.row + static_cast<int64_t>(std::ceil(bottom)) + 1);
    for (int64_t y = begin; y < end; ++y)
        paint_leaf_row(leaf, y, column, to.extent.w, to.channels, reinterpret_cast<float*>(to.row(y - row)));
}

/// Paints every leaf that can reach the window, in an order that does not depend on the window. A leaf reaches at most
/// into the neighbouring cells.
void paint_level(uint64_t seed, const LeafLevel& level, int64_t row, int64_t column, MutablePixelView to) {
    const int64_t last_row = floor_div(row + to.extent.h - 1, level.cell) + 1;
    const int64_t last_column = floor_div(column + to.extent.w - 1, level.cell) + 1;
    for (int64_t y = floor_div(row, level.cell) - 1; y <= last_row; ++y)
        for (int64_t x = floor_div(column, level.cell) - 1; x <= last_column; ++x) {
            const Leaf leaf = make_leaf(seed, level, y, x);
            if (leaf.present) paint_leaf(leaf, row, column, to);
        }
}

void fill_block(uint64_t seed, int64_t row, int64_t column, MutablePixelView to) {
    for (int64_t y = 0; y < to.extent.h; ++y)
        fill_ground_row(seed, row + y, column, to.extent.w, to.channels, reinterpret_cast<float*>(to.row(y)));
    for (const LeafLevel& level : kLevels) paint_level(seed, level, row, column, to);
    for (int64_t y = 0; y < to.extent.h; ++y) {
        auto* samples = reinterpret_cast<float*>(to.row(y));
        for (int64_t i = 0; i < to.extent.w * to.channels; ++i) samples[i] = std::clamp(samples[i], 0.0F, 1.0F);
    }
}

/// Columns per Philox block: the four words of a block make four Gaussian samples of one row and channel.
constexpr int64_t kLanes = 4;
constexpr int64_t kChunk = 256;  // columns processed together, so that scratch memory stays in the first-level cache

struct Words {
    std::array<std::array<uint32_t, kChunk / kLanes>, kLanes> lanes;
};

/// Box-Muller transform: words 0 and 1 make samples 0 and 1; words 2 and 3 make samples 2 and 3.
void make_gaussian(const Words& words, std::array<float, kChunk>& samples) {
    for (size_t pair = 0; pair < kLanes; pair += 2)
        for (size_t i = 0; i < kChunk / kLanes; ++i) {
            const float radius = std::sqrt(-2.0F * portable_log(unit_uniform(words.lanes[pair][i])));
            const SineCosine angle = portable_sincos(unit_uniform(words.lanes[pair + 1][i]));
            samples[pair * (kChunk / kLanes) + i] = radius * angle.cosine;
            samples[(pair + 1) * (kChunk / kLanes) + i] = radius * angle.sine;
        }
}

/// A run of columns in one row and channel.
struct Run {
    int64_t row = 0;
    int64_t channel = 0;
    int64_t begin = 0;  // the run is columns [begin, end); begin lies in the chunk that starts at `chunk`
    int64_t end = 0;
    int64_t chunk = 0;  // multiple of kLanes
};

void add_run(float sigma, uint64_t seed, const Run& run, float* first, int64_t stride) {
    Words words{};
    const int64_t num_blocks = (run.end - run.chunk + kLanes - 1) / kLanes;
    for (int64_t i = 0; i < num_blocks; ++i) {
        const auto block = random_block(seed, RandomStream::noise, run.row, run.chunk / kLanes + i,
                                        static_cast<uint32_t>(run.channel));
        for (size_t lane = 0; lane < kLanes; ++lane) words.lanes[lane][static_cast<size_t>(i)] = block[lane];
    }
    std::array<float, kChunk> samples;
    make_gaussian(words, samples);
    for (int64_t column = run.begin; column < run.end; ++column) {
        const auto offset = static_cast<size_t>(column - run.chunk);
        first[(column - run.begin) * stride] += sigma * samples[offset % kLanes * (kChunk / kLanes) + offset / kLanes];
    }
}

}  // namespace

void fill_scene(uint64_t seed, int64_t row, int64_t column, MutablePixelView to) {
    require(to.dtype == DType::f32 && (to.channels == 1 || to.channels == 3), "scenes are f32 with 1 or 3 channels");
    constexpr int64_t kBlock = 256;  // edge in pixels; all levels of a block are painted while it is in the cache
    for (int64_t y = 0; y < to.extent.h; y += kBlock)
        for (int64_t x = 0; x < to.extent.w; x += kBlock)
            fill_block(seed, row + y, column + x, to.part(intersection({y, x, {kBlock, kBlock}}, {0, 0, to.extent})));
}

void add_noise(double sigma, uint64_t seed, int64_t row, int64_t column, MutablePixelView image) {
    require(image.dtype == DType::f32, "noise is added to f32 images");
    require(row >= 0 && column >= 0, "noise has no negative rows and columns");
    const int64_t end = column + image.extent.w;
    for (int64_t y = 0; y < image.extent.h; ++y)
        for (int64_t channel = 0; channel < image.channels; ++channel)
            for (int64_t begin = column; begin < end;) {
                const int64_t chunk = begin / kLanes * kLanes;
                const int64_t stop = std::min(chunk + kChunk, end);
                auto* first = reinterpret_cast<float*>(image.row(y)) + (begin - column) * image.channels + channel;
                add_run(static_cast<float>(sigma), seed, {row + y, channel, begin, stop, chunk}, first, image.channels);
                begin = stop;
            }
}

}  // namespace pb::image
