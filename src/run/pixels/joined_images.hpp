// Windows and cores of several images in one pass: image i lies `stride` rows below image i - 1 (join_work).
#pragma once

#include "run/pixels/core_sink.hpp"
#include "run/pixels/slab.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace pb::run {

/// The images must outlive it.
class JoinedWindows final : public WindowSource {
  public:
    JoinedWindows(std::vector<WindowSource*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Slab read(const Rect& window) override;
    [[nodiscard]] bool is_in_memory() const override;

  private:
    std::vector<WindowSource*> images_;
    int64_t stride_;
};

/// Passes each core on to its image. The images must outlive it; they are also what is read back afterwards.
class JoinedCores final : public CoreSink {
  public:
    JoinedCores(std::vector<CoreSink*> images, int64_t stride) : images_(std::move(images)), stride_(stride) {}
    [[nodiscard]] Extent extent() const override;
    [[nodiscard]] DType dtype() const override { return images_.front()->dtype(); }
    [[nodiscard]] Slab map(const Rect& core) override;
    void count_lost(const Rect& core, int64_t values) override;
    void commit(const Rect& core) override;
    [[nodiscard]] bool is_in_memory() const override;
    [[nodiscard]] image::Image read(const Rect& part) override;

  private:
    [[nodiscard]] CoreSink& image_of(const Rect& part) const;
    [[nodiscard]] Rect inside(const Rect& part) const;

    std::vector<CoreSink*> images_;
    int64_t stride_;
};

}  // namespace pb::run
