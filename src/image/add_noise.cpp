#include "base/counter_random.hpp"
#include "image/portable_math.hpp"
#include "image/random_streams.hpp"
#include "image/synthetic.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace pb::image {
namespace {

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
