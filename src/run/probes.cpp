#include "run/probes.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace pb {

namespace {

constexpr uint64_t kSeed = 20;

/// Positions along an axis where two patches meet; the middle of the axis when there is one patch only.
std::vector<int64_t> seams(int64_t length, int64_t patch) {
    std::vector<int64_t> positions;
    for (int64_t seam = patch; seam < length; seam += patch) positions.push_back(seam);
    if (positions.empty()) positions.push_back(length / 2);
    return positions;
}

/// An aligned stretch of kProbeEdge round `centre` inside [0, length).
Range stretch(int64_t centre, int64_t length, int64_t alignment) {
    const int64_t edge = std::min(kProbeEdge, length);
    const int64_t begin = std::clamp<int64_t>(centre - edge / 2, 0, length - edge) / alignment * alignment;
    return {begin, std::min(length, begin + edge)};
}

}  // namespace

std::vector<int64_t> pick(Range range, int64_t count, uint64_t seed) {
    std::set<int64_t> chosen;
    if (range.size() <= count) {
        for (int64_t i = range.begin; i < range.end; ++i) chosen.insert(i);
    } else {
        std::mt19937_64 random(seed);
        while (static_cast<int64_t>(chosen.size()) < count)
            chosen.insert(range.begin + static_cast<int64_t>(random() % static_cast<uint64_t>(range.size())));
    }
    return {chosen.begin(), chosen.end()};
}

std::vector<Rect> seam_probes(const TileGrid& grid, int64_t count) {
    if (grid.num_windows() <= 1) return {};
    const auto rows = seams(grid.image().h, grid.spec().patch);
    const auto columns = seams(grid.image().w, grid.spec().patch);
    const auto num_columns = static_cast<int64_t>(columns.size());
    std::vector<Rect> probes;
    for (const int64_t index : pick({0, static_cast<int64_t>(rows.size()) * num_columns}, count, kSeed)) {
        const Range y = stretch(rows[static_cast<size_t>(index / num_columns)], grid.image().h, grid.spec().alignment);
        const Range x =
            stretch(columns[static_cast<size_t>(index % num_columns)], grid.image().w, grid.spec().alignment);
        probes.push_back({y.begin, x.begin, {y.size(), x.size()}});
    }
    return probes;
}

std::optional<Rect> find_suspect(Output& output, const Work& work, const std::vector<Range>& runs) {
    const bool floats = is_float(output.dtype());
    const auto is_odd = [&](float sample) { return floats ? !std::isfinite(sample) : sample == 0; };
    Suspect suspect;
    for (const Range& run : runs) {
        for (int64_t index = run.begin; index < run.end; ++index) {
            const Rect part = work.task(index).kept;
            const Image kept = output.read(part);
            const int64_t count = part.extent.pixels() * kept.channels();
            suspect.add(part, std::count_if(kept.as<float>(), kept.as<float>() + count, is_odd), count, floats);
        }
    }
    return suspect.part();
}

}  // namespace pb
