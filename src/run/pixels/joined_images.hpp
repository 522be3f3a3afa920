// Windows and cores of several images in one pass: image i lies `stride` rows below image i - 1 (join_work).
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/slab.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace pb::run {

[[nodiscard]] inline Rect moved_up(Rect part, int64_t rows) {
    part.row -= rows;
    return part;
}

/// The border of the image moves too, because what lies beyond it is a repetition of its last row.
[[nodiscard]] inline Slab moved_down(Slab slab, int64_t rows) {
    slab.row += rows;
    slab.image.h += rows;
    return slab;
}

/// The images must outlive it.
class JoinedWindows final : public WindowSource {
  public:
    JoinedWindows(std::vector<WindowSource*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Slab read(const Rect& window) override {
        const int64_t image = window.row / stride_;
        const int64_t rows = image * stride_;
        return moved_down(images_[static_cast<size_t>(image)]->read(moved_up(window, rows)), rows);
    }
    [[nodiscard]] bool is_in_memory() const override {
        return std::ranges::all_of(images_, &WindowSource::is_in_memory);
    }

  private:
    std::vector<WindowSource*> images_;
    int64_t stride_;
};

/// Passes each core on to its image. The images must outlive it; they are also what is read back afterwards.
class JoinedCores final : public CoreSink {
  public:
    JoinedCores(std::vector<CoreSink*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Extent extent() const override {
        return {std::ssize(images_) * stride_, images_.front()->extent().w};
    }
    [[nodiscard]] DType dtype() const override { return images_.front()->dtype(); }
    [[nodiscard]] Slab map(const Rect& core) override {
        return moved_down(image_of(core).map(inside(core)), core.row / stride_ * stride_);
    }
    void count_lost(const Rect& core, int64_t values) override { image_of(core).count_lost(inside(core), values); }
    void commit(const Rect& core) override { image_of(core).commit(inside(core)); }
    [[nodiscard]] bool is_in_memory() const override { return std::ranges::all_of(images_, &CoreSink::is_in_memory); }
    [[nodiscard]] image::Image read(const Rect& part) override { return image_of(part).read(inside(part)); }

  private:
    [[nodiscard]] CoreSink& image_of(const Rect& part) const {
        return *images_[static_cast<size_t>(part.row / stride_)];
    }
    [[nodiscard]] Rect inside(const Rect& part) const { return moved_up(part, part.row / stride_ * stride_); }

    std::vector<CoreSink*> images_;
    int64_t stride_;
};

}  // namespace pb::run
