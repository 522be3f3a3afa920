#include "run/verify/expected_tiles.hpp"

#include <algorithm>

namespace pb::run {

namespace {

int64_t padded_length(int64_t length, int64_t alignment) {
    return length % alignment == 0 ? length : length + alignment - length % alignment;
}

}  // namespace

ExpectedTiles::ExpectedTiles(Extent image, Extent patch, int64_t halo, int64_t alignment) {
    const Extent padded{padded_length(image.h, alignment), padded_length(image.w, alignment)};
    window_ = {std::min(patch.h + 2 * halo, padded.h), std::min(patch.w + 2 * halo, padded.w)};
    rows_ = stretches(image.h, patch.h, halo, window_.h, padded.h);
    columns_ = stretches(image.w, patch.w, halo, window_.w, padded.w);
}

/// Patches whose windows begin at the same pixel share one window.
std::vector<ExpectedTiles::Stretch> ExpectedTiles::stretches(int64_t length, int64_t patch, int64_t halo, int64_t edge,
                                                             int64_t padded) {
    std::vector<Stretch> all;
    for (int64_t begin = 0; begin < length; begin += patch) {
        const int64_t window = std::max<int64_t>(0, std::min(begin - halo, padded - edge));
        const int64_t count = std::min(patch, length - begin);
        if (!all.empty() && all.back().window == window)
            all.back().core_count += count;
        else
            all.push_back({window, begin, count});
    }
    return all;
}

plan::Tile ExpectedTiles::tile(int64_t index) const {
    const Stretch& row = rows_.at(static_cast<size_t>(index / std::ssize(columns_)));
    const Stretch& column = columns_.at(static_cast<size_t>(index % std::ssize(columns_)));
    return {{row.window, column.window, window_}, {row.core, column.core, {row.core_count, column.core_count}}};
}

}  // namespace pb::run
