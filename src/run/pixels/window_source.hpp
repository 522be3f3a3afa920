// Where a pass reads its windows. In memory: from a slab that the ranks of a node share. Streamed: a window is read
// when it is cut, so that no rank holds more of the image than its batches.
#pragma once

#include "run/pixels/image_source.hpp"
#include "run/pixels/slab.hpp"

#include <vector>

namespace pb {

class WindowSource {
  public:
    virtual ~WindowSource() = default;
    /// Memory with all of the image that lies in `window`, until the next call.
    [[nodiscard]] virtual Slab read(const Rect& window) = 0;
};

/// Windows of a slab: nothing is copied.
class MemoryWindows final : public WindowSource {
  public:
    explicit MemoryWindows(const Slab& slab) : slab_(slab) {}
    [[nodiscard]] Slab read(const Rect& /*window*/) override { return slab_; }

  private:
    Slab slab_;
};

/// Windows of a source that can be read by windows, with the study's noise. `source` must outlive it.
class StreamedWindows final : public WindowSource {
  public:
    explicit StreamedWindows(ImageSource& source) : source_(source) {}
    [[nodiscard]] Slab read(const Rect& window) override;

  private:
    ImageSource& source_;
    std::vector<std::byte> samples_;
};

/// As slab.hpp cuts a window, from wherever it is read.
void cut_window(WindowSource& source, const Rect& window, std::byte* samples);
void cut_window_to_f32(WindowSource& source, const Rect& window, const Conversion& conversion, float* values);

}  // namespace pb
