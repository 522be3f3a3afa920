// The source of the windows of a pass. In memory: a slab that the ranks of a node share. Streamed: a window is read
// when it is cut, so that no rank holds more of the image than its batches.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"

#include <vector>

namespace pb::run {

class WindowSource {
  public:
    virtual ~WindowSource() = default;
    /// Returns memory with the part of the image that lies in `window`. It is valid until the next call.
    [[nodiscard]] virtual Slab read(const Rect& window) = 0;
};

/// Returns windows of a slab, without a copy.
class MemoryWindows final : public WindowSource {
  public:
    explicit MemoryWindows(const Slab& slab) : slab_(slab) {}
    [[nodiscard]] Slab read(const Rect& /*window*/) override { return slab_; }

  private:
    Slab slab_;
};

/// Reads windows from a source that supports it, with the study's noise. `source` must outlive it.
class StreamedWindows final : public WindowSource {
  public:
    explicit StreamedWindows(ImageSource& source) : source_(source) {}
    [[nodiscard]] Slab read(const Rect& window) override;

  private:
    ImageSource& source_;
    std::vector<std::byte> samples_;
};

/// Cut a window as the functions of slab.hpp do, from any source.
void cut_window(WindowSource& source, const Rect& window, std::byte* samples);
void cut_window_to_f32(WindowSource& source, const Rect& window, const device::Conversion& conversion, float* values);

}  // namespace pb::run
