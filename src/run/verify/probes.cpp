#include "run/verify/probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>

namespace pb::run {

namespace {

/// Positions along an axis where two patches meet, or the middle of the axis when there is only one patch.
std::vector<int64_t> seams(int64_t length, int64_t patch) {
    std::vector<int64_t> positions;
    for (int64_t seam = patch; seam < length; seam += patch) positions.push_back(seam);
    if (positions.empty()) positions.push_back(length / 2);
    return positions;
}

/// The same of columns.
std::vector<int64_t> column_seams(const plan::TileGrid& grid) {
    std::vector<int64_t> positions;
    if (!grid.has_own_columns()) return seams(grid.image().w, grid.patch().w);
    for (const plan::AxisTile& column : grid.columns())
        if (column.core.begin > 0) positions.push_back(column.core.begin);
    return positions;
}

/// An aligned range around `centre`, limited to [0, length). Its end is aligned, too: as those of a patch, its last
/// rows have no more context than the halo.
Range stretch(int64_t centre, int64_t length, int64_t alignment) {
    const int64_t edge = std::min(round_up(kProbeEdge, alignment), length);
    const int64_t begin = std::clamp<int64_t>(centre - edge / 2, 0, length - edge) / alignment * alignment;
    return {begin, std::min(length, begin + edge)};
}

/// As count_odd, for samples that were read as f32.
int64_t count_odd_values(const image::Image& denoised, bool floats) {
    return std::count_if(denoised.as<float>(), denoised.as<float>() + denoised.num_samples(),
                         [&](float sample) { return floats ? !std::isfinite(sample) : sample == 0; });
}

/// Mean absolute difference between the network's output and input; NaN when a sample is NaN.
double mean_change(const image::Image& denoised, const PixelView& noisy) {
    image::Image before(denoised.extent(), denoised.channels(), DType::f32);
    image::to_float(noisy, before.view());
    const int64_t count = denoised.num_samples();
    double sum = 0;
    for (int64_t i = 0; i < count; ++i)
        sum += std::abs(static_cast<double>(denoised.as<float>()[i] - before.as<float>()[i]));
    return sum / static_cast<double>(count);
}

struct Moments {
    double count = 0, sum = 0, sum_of_squares = 0;
    void add(double value) {
        ++count;
        sum += value;
        sum_of_squares += value * value;
    }
    [[nodiscard]] double mean() const { return sum / count; }
    [[nodiscard]] double deviation() const { return std::sqrt(sum_of_squares / count - mean() * mean()); }
};

void add_differences(const PixelView& noisy, const PixelView& clean, Moments& moments) {
    for (int64_t y = 0; y < clean.extent.h; ++y) {
        const auto with = image::floats_in(noisy, y), without = image::floats_in(clean, y);
        for (size_t i = 0; i < without.size(); ++i)
            moments.add(static_cast<double>(with[i]) - static_cast<double>(without[i]));
    }
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

std::vector<Rect> seam_probes(const plan::TileGrid& grid, int64_t count) {
    if (grid.num_windows() <= 1) return {};
    const auto rows = seams(grid.image().h, grid.patch().h);
    const auto columns = column_seams(grid);
    const auto num_columns = static_cast<int64_t>(columns.size());
    std::vector<Rect> probes;
    for (const int64_t index : pick({0, static_cast<int64_t>(rows.size()) * num_columns}, count, kProbeSeed)) {
        const Range y = stretch(rows[static_cast<size_t>(index / num_columns)], grid.image().h, grid.spec().alignment);
        const Range x =
            stretch(columns[static_cast<size_t>(index % num_columns)], grid.image().w, grid.spec().alignment);
        probes.push_back({y.begin, x.begin, {y.size(), x.size()}});
    }
    return probes;
}

std::vector<int64_t> shuffled(const std::vector<Range>& runs, uint64_t seed) {
    std::vector<int64_t> indices = indices_of(runs);
    std::mt19937_64 random(seed);
    for (size_t left = indices.size(); left > 1; --left) std::swap(indices[left - 1], indices[random() % left]);
    return indices;
}

std::vector<int64_t> readable_windows(const std::vector<Range>& runs, const Work& work, const CoreSink& output,
                                      uint64_t seed) {
    std::vector<int64_t> indices = shuffled(runs, seed);
    std::erase_if(indices, [&](int64_t index) { return !output.holds(work.tile(index).core); });
    return indices;
}

Anomalies find_anomalies(CoreSink& output, WindowSource& input, const Work& work, const std::vector<Range>& runs) {
    constexpr double kNothing = 1e-6;  // rounding error of a gain and of samples
    const bool floats = is_float(output.dtype());
    AnomalyTracker odd;
    bool has_blank = false;
    std::optional<int64_t> oddest, most_changed, least_changed;
    double most = 0, least = std::numeric_limits<double>::infinity();
    for (const int64_t index : indices_of(runs)) {
        const Rect part = work.tile(index).core;
        const image::Image denoised = output.read(part);
        const int64_t count = denoised.num_samples();
        const int64_t num_odd = count_odd_values(denoised, floats);
        if (odd.add(part, num_odd, count, floats)) oddest = index;
        const double change = mean_change(denoised, input.read(part).part(part));
        has_blank = has_blank || (!floats && num_odd == count && change > kNothing);
        if (!most_changed || change > most) most_changed = index, most = change;
        if (!least_changed || change < least) least_changed = index, least = change;
    }
    Anomalies anomalies{{}, least <= kNothing, has_blank};
    const auto next =
        anomalies.has_unchanged ? std::pair(least_changed, most_changed) : std::pair(most_changed, least_changed);
    for (const auto& index : {oddest, next.first, next.second})
        if (index && std::ranges::find(anomalies.windows, *index) == anomalies.windows.end())
            anomalies.windows.push_back(*index);
    return anomalies;
}

std::optional<std::string> find_wrong_noise(WindowSource& noisy, ImageSource& clean, const std::vector<Rect>& parts,
                                            double sigma) {
    Moments noise;
    for (const Rect& part : parts) {
        const image::Image expected = clean.read_unit(part);
        add_differences(noisy.read(part).part(part), expected.view(), noise);
        noise.count -= static_cast<double>(clean.count_gaps(part));  // gaps have no noise: they add nothing to the sums
    }
    if (noise.count < 2) return std::nullopt;
    constexpr double kErrors = 5;
    constexpr double kRounding = 1e-6;  // rounding error of f32 samples up to about 1
    const double mean_limit = kErrors * sigma / std::sqrt(noise.count) + kRounding;
    const double deviation_limit = kErrors * sigma / std::sqrt(2 * noise.count) + kRounding;
    if (std::abs(noise.mean()) <= mean_limit && std::abs(noise.deviation() - sigma) <= deviation_limit)
        return std::nullopt;
    return fmt::format("the noise in the input has mean {:f} and standard deviation {:f}, not 0 and {:f}", noise.mean(),
                       noise.deviation(), sigma);
}

}  // namespace pb::run
