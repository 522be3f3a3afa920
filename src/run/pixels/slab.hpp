// A node's part of an image: full rows in memory that the ranks of the node share. Windows are cut from the input's
// slab, and cores are written into the output's slab.
#pragma once

#include "comm/shared/node_memory.hpp"
#include "device/convert.hpp"
#include "image/image.hpp"
#include "run/pixels/image_source.hpp"
#include "run/work.hpp"

#include <vector>

namespace pb::run {

/// A part of an image with the extents `image`: whole rows, or some columns of them. Its first pixel is (row, column).
struct Slab {
    MutablePixelView pixels;
    Extent image;
    int64_t row = 0;
    int64_t column = 0;

    /// Returns the address of a pixel. Image coordinates; the pixel must be inside the slab.
    [[nodiscard]] std::byte* at(int64_t y, int64_t x) const { return pixels.at(y - row, x - column); }
    [[nodiscard]] MutablePixelView part(const Rect& rect) const {
        return pixels.part({rect.row - row, rect.column - column, rect.extent});
    }
};

/// Makes a slab for `part` of an image in `memory`, which is resized to fit.
[[nodiscard]] Slab slab_of(const Rect& part, Extent image, int64_t channels, DType dtype,
                           std::vector<std::byte>& memory);

/// A slab in memory shared by `node`. Collective over it. A node may have no rows.
class SharedSlab {
  public:
    SharedSlab() = default;
    SharedSlab(const comm::Communicator& node, Extent image, Range rows, int64_t channels, DType dtype);
    [[nodiscard]] const Slab& slab() const { return slab_; }

  private:
    comm::NodeMemory memory_;
    Slab slab_;
};

/// Fills this rank's share of the slab's rows from `source`. If the format has no windows, local rank 0 reads all rows.
/// Not collective: call a barrier before the slab is used.
void read_into(const Slab& slab, ImageSource& source, int local_rank, int local_size);
/// Adds the study's noise to this rank's share of the rows.
void add_noise_into(const Slab& slab, ImageSource& source, int local_rank, int local_size);

/// Copies a window from the slab to dense rows at `samples` (dtype and channels of the slab). Beyond the border of the
/// image, its last column and row are repeated.
void cut_window(const Slab& slab, const Rect& window, std::byte* samples);
/// As `cut_window`, but converts to f32 NHWC with the sigma channel of `conversion`.
void cut_window_to_f32(const Slab& slab, const Rect& window, const device::Conversion& conversion, float* values);

/// Writes the core of a window (`samples`: dense rows of the slab's dtype and channels) into the slab.
void write_core(const std::byte* samples, const plan::Tile& tile, const Slab& slab);
/// As `write_core`, but converts from f32 NHWC windows.
void write_core_from_f32(const float* values, const plan::Tile& tile, const device::Conversion& conversion,
                         const Slab& slab);

/// Marks every sample of this rank's share of the slab's rows as unwritten: NaN for f32, 0xA5 bytes for integers.
void poison(const Slab& slab, int local_rank, int local_size);

/// The source of the windows of a pass. In memory: a slab that the ranks of a node share. Streamed: a window is read
/// when it is cut, so that no rank holds more of the image than its batches.
class WindowSource {
  public:
    virtual ~WindowSource() = default;
    /// Returns memory with the part of the image that lies in `window`. It is valid until the next call.
    [[nodiscard]] virtual Slab read(const Rect& window) = 0;
    /// Whether the memory of all windows stays valid, and several threads may read at once. Then `read` does not throw.
    [[nodiscard]] virtual bool is_in_memory() const { return false; }
};

/// Returns windows of a slab, without a copy.
class MemoryWindows final : public WindowSource {
  public:
    explicit MemoryWindows(const Slab& slab) : slab_(slab) {}
    [[nodiscard]] Slab read(const Rect& /*window*/) override { return slab_; }
    [[nodiscard]] bool is_in_memory() const override { return true; }

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

}  // namespace pb::run
