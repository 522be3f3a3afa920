#include "run/pipelines.hpp"
#include "run/verification.hpp"

#include "patchbench/run/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <string>

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

/// The checksum of the input, each rank's share of it: cut in another way than the windows were.
uint64_t checksum_of_input(const Team& team, ImageSource& source) {
    constexpr Extent kPiece{64, 8192};
    StreamedWindows pieces(source);
    const Extent image = source.extent();
    const Range rows = shard(image.h, team.ranks.rank(), team.ranks.size());
    uint64_t sum = 0;
    for (int64_t row = rows.begin; row < rows.end; row += kPiece.h)
        for (int64_t column = 0; column < image.w; column += kPiece.w) {
            stop_if_interrupted();
            const Rect piece{row, column, {std::min(kPiece.h, rows.end - row), std::min(kPiece.w, image.w - column)}};
            sum += checksum_of(pieces.around(piece).part(piece), row, column, image.w);
        }
    return sum;
}

/// Pixels that were kept nowhere: their checksum is the input's where each was written once and at its place.
void verify_stream(const PointTrace& trace, const Team& team, const StreamedOutput& output, ImageSource& source,
                   Verification& result) {
    uint64_t difference = 0;
    together(team.ranks, [&] { difference = checksum_of_input(team, source) - output.counts().checksum; });
    const double written = team.ranks.sum(static_cast<double>(output.counts().pixels));
    result.pixels_unwritten = static_cast<int64_t>(trace.useful_pixels - written);
    if (result.pixels_unwritten != 0)
        result.reasons.push_back(std::to_string(static_cast<int64_t>(written)) +
                                 " output pixels were written, not each one once");
    if (sum_of_ranks(difference, team.ranks) != 0)
        result.reasons.emplace_back("the checksum of the output is not that of the input");
}

/// Compares with the input what the root's node holds.
void verify_held(const Team& team, const RankShare& share, ImageSource& source, Verification& result) {
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
}

}  // namespace

Verification verify_passed_through(const PointTrace& trace, const Team& team, const RankShare& share,
                                   ImageSource& source) {
    Verification result;
    if (const auto fault = find_coverage_fault(trace, team, share)) result.reasons.push_back(*fault);
    if (share.streamed() != nullptr)
        verify_stream(trace, team, *share.streamed(), source, result);
    else
        verify_held(team, share, source, result);
    result.outcome = result.reasons.empty() ? Verification::Outcome::passed : Verification::Outcome::failed;
    return result;
}

}  // namespace pb
