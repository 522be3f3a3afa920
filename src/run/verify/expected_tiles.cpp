#include "run/verify/expected_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::run {

namespace {

int64_t padded_length(int64_t length, int64_t step) {
    return length % step == 0 ? length : length + step - length % step;
}

/// The least that holds patch and halo and whose windows, begun at a multiple of the alignment, can end with the image.
int64_t window_length(int64_t needed, int64_t padded, int64_t alignment) {
    if (needed >= padded) return padded;
    while ((padded - needed) % alignment != 0) ++needed;
    return needed;
}

bool has_its_context(const plan::Tile& strip, const StripRules& rules) {
    const int64_t begin = strip.window.column, end = begin + strip.window.extent.w;
    const int64_t left = strip.core.column - begin, right = end - strip.core.column - strip.core.extent.w;
    return (begin == 0 || left >= rules.before) && (end == rules.padded || right >= rules.behind);
}

}  // namespace

ExpectedTiles::ExpectedTiles(Extent image, Extent patch, int64_t halo, int64_t alignment, int64_t step) {
    const Extent padded{padded_length(image.h, step), padded_length(image.w, step)};
    window_ = {window_length(patch.h + 2 * halo, padded.h, alignment),
               window_length(patch.w + 2 * halo, padded.w, alignment)};
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

std::vector<plan::Tile> strips_of_band(const Work& work, int64_t width) {
    std::vector<plan::Tile> strips;
    for (int64_t end = 0; end < width; end = strips.back().core.column + strips.back().core.extent.w)
        strips.push_back(work.tile(std::ssize(strips)));
    return strips;
}

std::optional<std::string> find_wrong_strip(const std::vector<plan::Tile>& strips, const StripRules& rules) {
    int64_t end = 0;  // of the core before
    for (const plan::Tile& strip : strips) {
        const int64_t begin = strip.window.column;
        const bool is_right = strip.core.column == end && strip.window.extent.w == rules.columns && begin >= 0 &&
                              begin % rules.unit == 0 && begin + rules.columns <= rules.padded &&
                              has_its_context(strip, rules);
        if (!is_right)
            return fmt::format("the strip at column {} keeps columns {} to {}: a fault of the tiling, please report it",
                               begin, strip.core.column, strip.core.column + strip.core.extent.w - 1);
        end += strip.core.extent.w;
    }
    if (end == rules.width) return std::nullopt;
    return fmt::format("the strips keep {} of {} columns: a fault of the tiling, please report it", end, rules.width);
}

}  // namespace pb::run
