// What the tests of cropped windows share.
#pragma once

#include "engine/native_rows.hpp"
#include "network/parts/window_crop.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace pb::test {

/// Windows of one extent with their cores, along each axis.
struct Scene {
    Extent window;
    std::vector<Range> rows, columns;
};

/// Cores of `core` pixels at the image's border on either side, within it, at one end of a clipped last patch, and one
/// that is the whole axis.
inline std::vector<Range> cores_within(int64_t extent, int64_t core, int64_t step) {
    return {{0, core}, {2 * step, 2 * step + core}, {extent - core, extent}, {extent - core, extent - 3}, {0, extent}};
}

/// `scene`'s cores for each of `n` windows, which repeat and change within a batch.
inline std::vector<Rect> cores_of(const Scene& scene, int64_t n, size_t first) {
    std::vector<Rect> cores;
    for (size_t i = first; std::ssize(cores) < n; ++i) {
        const size_t kind = i / 2;  // two windows in a row have the same
        cores.push_back(rect_of(scene.rows[kind / scene.columns.size() % scene.rows.size()],
                                scene.columns[kind % scene.columns.size()]));
    }
    return cores;
}

/// The pixels of `core` of window `n`.
inline std::vector<float> pixels_in(const Rect& core, int64_t n, const std::vector<float>& windows,
                                    const Shape& shape) {
    std::vector<float> pixels;
    for (int64_t y = core.row; y < core.row + core.extent.h; ++y) {
        const auto begin = windows.begin() + ((n * shape.h + y) * shape.w + core.column) * shape.c;
        pixels.insert(pixels.end(), begin, begin + core.extent.w * shape.c);
    }
    return pixels;
}

/// Three core places along each axis that are cropped on one side, on both and on none, for a network of alignment
/// `step`.
inline Scene scene_of(int64_t step) {
    const Extent window{std::max(round_up(33, step), 9 * step), std::max(round_up(21, step), 7 * step)};
    return {window, cores_within(window.h, 3 * step + 1, step), cores_within(window.w, 2 * step + 3, step)};
}

class CroppedWindows {
  public:
    CroppedWindows(const engine::Weights& weights, const Scene& scene, int64_t n, const engine::EngineOptions& options,
                   const network::CropEngine& engine = {})
        : crop_(weights.graph(), scene.window, scene.rows, scene.columns, engine),
          options_(options),
          denoiser_(make_denoiser(weights, options_)),
          in_shape_(input_shape(weights, n, scene.window.h, scene.window.w)),
          out_shape_(output_shape(weights, in_shape_)),
          values_(random_values(static_cast<size_t>(in_shape_.elements()), kRowSeed)),
          whole_(denoise(*denoiser_, weights, options_, values_, in_shape_)),
          cropped_(whole_.size()),
          pass_(denoiser_->make_crop_pass(crop_, n, stream_)) {}

    [[nodiscard]] BatchView in() { return view_of(values_.data(), in_shape_, options_); }
    [[nodiscard]] BatchView out() { return view_of(cropped_.data(), out_shape_, options_); }
    [[nodiscard]] engine::CropPass& pass() { return *pass_; }

    /// Of the pixels of all windows.
    [[nodiscard]] double largest() const { return max_abs(whole_); }

    /// The pixels of all cores, of cropped windows and of whole ones.
    struct Pixels {
        std::vector<float> cropped, whole;
    };
    [[nodiscard]] Pixels run(const std::vector<Rect>& cores) {
        cropped_.assign(whole_.size(), std::nanf(""));
        pass_->run(in(), out(), cores);
        Pixels pixels;
        for (size_t i = 0; i < cores.size(); ++i) {
            append(pixels.cropped, pixels_in(cores[i], static_cast<int64_t>(i), cropped_, out_shape_));
            append(pixels.whole, pixels_in(cores[i], static_cast<int64_t>(i), whole_, out_shape_));
        }
        return pixels;
    }

  private:
    static void append(std::vector<float>& all, const std::vector<float>& more) {
        all.insert(all.end(), more.begin(), more.end());
    }

    network::WindowCrop crop_;
    engine::EngineOptions options_;
    std::unique_ptr<engine::Denoiser> denoiser_;
    device::Stream stream_{options_.device};
    Shape in_shape_, out_shape_;
    std::vector<float> values_, whole_, cropped_;
    std::unique_ptr<engine::CropPass> pass_;
};

/// Calls `check` with the pixels of batches of `n` in which every pair of core places of `scene` occurs.
template <class Check>
void for_batches(CroppedWindows& windows, const Scene& scene, int64_t n, Check check) {
    for (size_t first = 0; first < 2 * scene.rows.size() * scene.columns.size(); first += static_cast<size_t>(n) + 1)
        check(windows.run(cores_of(scene, n, first)));
}

}  // namespace pb::test
