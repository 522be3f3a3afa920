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

/// Rows [rows.begin, rows.end) of an image of `image` extents, dense, at `pixels`: all columns, or some of them.
struct Slab {
    std::byte* pixels = nullptr;
    Extent image;
    Range rows;
    int64_t channels = 0;
    DType dtype = DType::f32;
    Range columns = {};  // none: all

    [[nodiscard]] size_t pixel_bytes() const { return static_cast<size_t>(channels) * size_of(dtype); }
    [[nodiscard]] int64_t width() const { return columns.size() > 0 ? columns.size() : image.w; }
    [[nodiscard]] size_t row_bytes() const { return static_cast<size_t>(width()) * pixel_bytes(); }
    [[nodiscard]] size_t bytes() const { return static_cast<size_t>(rows.size()) * row_bytes(); }
    [[nodiscard]] std::byte* at(int64_t row, int64_t column) const {
        return pixels + static_cast<size_t>(row - rows.begin) * row_bytes() +
               static_cast<size_t>(column - columns.begin) * pixel_bytes();
    }
    /// A part (inside the slab) as a view.
    [[nodiscard]] MutableImageView part(const Rect& rect) const {
        return {at(rect.row, rect.column), rect.extent, channels, dtype, row_bytes()};
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
