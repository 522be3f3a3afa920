// A node's part of an image: full rows in memory that the node's ranks share. Windows are cut from the input's slab and
// cores written into the output's.
#pragma once

#include "comm/node_memory.hpp"
#include "device/convert.hpp"
#include "image/image.hpp"
#include "run/pixels/image_source.hpp"
#include "run/work.hpp"

#include <vector>

namespace pb {

/// A part of an image of `image` extents: whole rows, or some columns of them. Its first pixel is (row, column).
struct Slab {
    MutablePixelView pixels;
    Extent image;
    int64_t row = 0;
    int64_t column = 0;

    /// In image coordinates, inside the slab.
    [[nodiscard]] std::byte* at(int64_t y, int64_t x) const { return pixels.at(y - row, x - column); }
    [[nodiscard]] MutablePixelView part(const Rect& rect) const {
        return pixels.part({rect.row - row, rect.column - column, rect.extent});
    }
};

/// A slab for `part` of an image, in `memory`, which is made no larger than that.
[[nodiscard]] Slab slab_of(const Rect& part, Extent image, int64_t channels, DType dtype,
                           std::vector<std::byte>& memory);

/// A slab in memory shared by `node`. Collective over it; the rows may be none.
class SharedSlab {
  public:
    SharedSlab() = default;
    SharedSlab(const Communicator& node, Extent image, Range rows, int64_t channels, DType dtype);
    [[nodiscard]] const Slab& slab() const { return slab_; }

  private:
    NodeMemory memory_;
    Slab slab_;
};

/// Fills this rank's share of the slab's rows from `source`; where the format has no windows, local rank 0 reads for
/// all. Not collective: barrier before use.
void read_into(const Slab& slab, ImageSource& source, int local_rank, int local_size);
/// Adds the study's noise to this rank's share of the rows.
void add_noise_into(const Slab& slab, ImageSource& source, int local_rank, int local_size);

/// Copies a window out of the slab to dense rows at `samples` (dtype and channels of the slab), replicating the image's
/// last column and row beyond its border.
void cut_window(const Slab& slab, const Rect& window, std::byte* samples);
/// As `cut_window`, converted on the way to f32 NHWC with the sigma channel of `conversion`.
void cut_window_to_f32(const Slab& slab, const Rect& window, const Conversion& conversion, float* values);

/// Writes the core of a window (`samples`: dense rows of the slab's dtype and channels) into the slab.
void write_core(const std::byte* samples, const Tile& tile, const Slab& slab);
/// As `write_core` from f32 NHWC windows, converted on the way.
void write_core_from_f32(const float* values, const Tile& tile, const Conversion& conversion, const Slab& slab);

/// Marks every sample of this rank's share of the slab's rows as unwritten: NaN for f32, 0xA5 bytes for integers.
void poison(const Slab& slab, int local_rank, int local_size);

}  // namespace pb
