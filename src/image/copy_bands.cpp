#include "image/image.hpp"

#include "patchbench/base/error.hpp"

#include <cstring>

namespace pb {

void copy_bands(const PixelView& from, int64_t first, int64_t count, MutablePixelView to, int64_t to_first) {
    require(from.extent == to.extent && from.dtype == to.dtype && first >= 0 && first + count <= from.channels &&
                to_first >= 0 && to_first + count <= to.channels,
            "bands to copy do not lie in both images");
    const size_t bytes = static_cast<size_t>(count) * size_of(from.dtype);
    for (int64_t y = 0; y < from.extent.h; ++y) {
        const std::byte* in = from.row(y) + static_cast<size_t>(first) * size_of(from.dtype);
        std::byte* out = to.row(y) + static_cast<size_t>(to_first) * size_of(to.dtype);
        if (from.channels == count && to.channels == count) {
            std::memcpy(out, in, bytes * static_cast<size_t>(from.extent.w));
            continue;
        }
        for (int64_t x = 0; x < from.extent.w; ++x, in += from.pixel_bytes(), out += to.pixel_bytes())
            std::memcpy(out, in, bytes);
    }
}

}  // namespace pb
