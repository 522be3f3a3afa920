#include "comm/interruption.hpp"
#include "run/agreement.hpp"
#include "run/verify/output_scan.hpp"
#include "run/verify/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace pb::run {

namespace {

/// Calls `look(piece)` for pieces that cover `rows` of an image with `width` columns. The pieces differ from the
/// windows, and their size does not depend on the image.
template <class Look>
void for_pieces(const Range& rows, int64_t width, Look&& look) {
    constexpr Extent kPiece{64, 8192};
    for (int64_t row = rows.begin; row < rows.end; row += kPiece.h)
        for (int64_t column = 0; column < width; column += kPiece.w) {
            comm::stop_if_interrupted();
            look(Rect{row, column, {std::min(kPiece.h, rows.end - row), std::min(kPiece.w, width - column)}});
        }
}

/// Numbers of output samples that were not written, and that differ from the input.
struct Faults {
    double unwritten = 0;
    double misplaced = 0;
};

Faults find_faults(CoreSink& output, ImageSource& source, const Range& rows) {
    Faults faults;
    for_pieces(rows, output.extent().w, [&](const Rect& piece) {
        const image::Image written = output.read(piece);
        const image::Image expected = output.as_stored(piece, source.read_noisy(piece));
        const auto count = static_cast<size_t>(written.num_samples());
        for (size_t i = 0; i < count; ++i) {
            const float sample = written.as<float>()[i];
            faults.unwritten += std::isnan(sample) ? 1 : 0;
            faults.misplaced += !std::isnan(sample) && sample != expected.as<float>()[i] ? 1 : 0;
        }
    });
    return faults;
}

uint64_t checksum_of_input(const Range& rows, ImageSource& source) {
    StreamedWindows windows(source);
    const int64_t width = source.extent().w;
    uint64_t sum = 0;
    for_pieces(rows, width, [&](const Rect& piece) {
        sum += checksum_of(windows.read(piece).part(piece), piece.row, piece.column, width);
    });
    return sum;
}

/// Checks pixels that were not stored: their checksum equals the input's if each was written once at its position.
void verify_checksum(const Team& team, const StreamedSink& output, ImageSource& source, record::Verification& result) {
    uint64_t difference = 0;
    const Range rows = shard(source.extent().h, team.ranks.rank(), team.ranks.size());
    together(team.ranks, [&] { difference = checksum_of_input(rows, source) - output.counts().checksum; });
    if (sum_of_ranks(difference, team.ranks) != 0)
        result.reasons.emplace_back("the checksum of the output is not that of the input");
}

/// Compares the output with the input where it can be read back: a held output on the root's node, a file on all ranks.
void verify_pixels(const Team& team, const RankShare& share, ImageSource& source, record::Verification& result) {
    Faults mine;
    const bool held = share.streamed() == nullptr;
    const comm::Communicator& readers = held ? team.node : team.ranks;
    together(team.ranks, [&] {
        if (held && !team.shares_root_node(team.ranks.rank())) return;
        mine = find_faults(share.cores(), source, shard(source.extent().h, readers.rank(), readers.size()));
    });
    const auto unwritten = static_cast<int64_t>(team.ranks.sum(mine.unwritten));
    const auto misplaced = static_cast<int64_t>(team.ranks.sum(mine.misplaced));
    if (held) result.pixels_unwritten = unwritten;
    result.pixels_not_finite = unwritten;
    if (unwritten > 0) result.reasons.push_back(fmt::format("{} output samples are unwritten", unwritten));
    if (misplaced > 0)
        result.reasons.push_back(fmt::format("{} output samples are not those of the input at their place", misplaced));
}

}  // namespace

record::Verification verify_passed_through(const record::PointTrace& trace, const Team& team, const RankShare& share,
                                           ImageSource& source) {
    record::Verification result;
    if (const auto fault = find_coverage_fault(trace, team, share)) result.reasons.push_back(*fault);
    if (share.streamed() != nullptr) count_unwritten(trace, team, share.streamed()->counts(), result);
    if (trace.point.settings.output == config::OutputKind::checksum)
        verify_checksum(team, *share.streamed(), source, result);
    else
        verify_pixels(team, share, source, result);
    result.outcome =
        result.reasons.empty() ? record::Verification::Outcome::passed : record::Verification::Outcome::failed;
    return result;
}

}  // namespace pb::run
