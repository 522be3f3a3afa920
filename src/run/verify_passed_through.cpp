#include "run/verification.hpp"

#include "patchbench/run/agreement.hpp"

#include <algorithm>
#include <cmath>

namespace pb {

namespace {

/// Samples of `rows` of the output that were not written, and those that are not the input's.
struct Faults {
    double unwritten = 0;
    double misplaced = 0;
};

Faults find_faults(const Slab& output, ImageSource& source, const Rect& rows) {
    constexpr int64_t kBand = 64;
    Faults faults;
    for (int64_t row = rows.row; row < rows.row + rows.extent.h; row += kBand) {
        const Rect band{row, 0, {std::min(kBand, rows.row + rows.extent.h - row), rows.extent.w}};
        Image written(band.extent, output.channels, DType::f32);
        to_float(output.part(band), written.view());
        const Image expected = source.read_noisy(band);
        const auto count = static_cast<size_t>(band.extent.pixels() * output.channels);
        for (size_t i = 0; i < count; ++i) {
            const float sample = written.as<float>()[i];
            faults.unwritten += std::isnan(sample) ? 1 : 0;
            faults.misplaced += !std::isnan(sample) && sample != expected.as<float>()[i] ? 1 : 0;
        }
    }
    return faults;
}

}  // namespace

Verification verify_passed_through(const PointTrace& trace, const Team& team, const RankShare& share,
                                   ImageSource& source) {
    Verification result;
    if (const auto fault = find_coverage_fault(trace, team, share)) result.reasons.push_back(*fault);
    Faults mine;
    together(team.ranks, [&] {
        if (!team.shares_root_node(team.ranks.rank())) return;
        const Range rows = shard(share.output().image.h, team.node.rank(), team.node.size());
        mine = find_faults(share.output(), source, rect_of(rows, {0, share.output().image.w}));
    });
    const auto unwritten = static_cast<int64_t>(team.ranks.sum(mine.unwritten));
    const auto misplaced = static_cast<int64_t>(team.ranks.sum(mine.misplaced));
    result.pixels_unwritten = result.pixels_not_finite = unwritten;
    if (unwritten > 0) result.reasons.push_back(std::to_string(unwritten) + " output samples are unwritten");
    if (misplaced > 0)
        result.reasons.push_back(std::to_string(misplaced) +
                                 " output samples are not those of the input at their place");
    result.outcome = result.reasons.empty() ? Verification::Outcome::passed : Verification::Outcome::failed;
    return result;
}

}  // namespace pb
