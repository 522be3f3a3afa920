#include "run/verify/expected_strips.hpp"

#include <fmt/format.h>

namespace pb::run {

namespace {

bool has_its_context(const plan::Tile& strip, const StripRules& rules) {
    const int64_t begin = strip.window.column, end = begin + strip.window.extent.w;
    const int64_t left = strip.core.column - begin, right = end - strip.core.column - strip.core.extent.w;
    return (begin == 0 || left >= rules.halo) && (end == rules.padded || right >= rules.halo);
}

}  // namespace

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
