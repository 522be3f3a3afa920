#include "run/verify/fp64_check.hpp"

#include "run/agreement.hpp"
#include "run/verify/probes.hpp"
#include "run/verify/seam_check.hpp"
#include "run/verify/window_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

namespace pb::run {

namespace {

/// A window of this rank: always the same one of a rank, so that `cache` has its result for the next engine.
std::optional<Difference> compare_own_window(const Subject& subject, const Tolerance& tolerance,
                                             ReferenceCache& cache) {
    const Work& work = subject.share.work();
    const auto windows = readable_windows(subject.share.windows_done(), work, subject.output(), kProbeSeed);
    if (windows.empty()) return std::nullopt;
    const plan::Tile tile = work.tile(windows.front());
    const std::string key = "fp64 " + key_of(subject, tile.window) + ' ' + key_of(subject, tile.core);
    const image::Image& exact = cache.find(key, [&] { return expected_of(subject, *subject.exact, tile, tile.core); });
    const auto read_noisy = [&] { return subject.reference.source().read_noisy(tile.core); };
    return find_difference(subject.output(), {tile.core, exact, read_noisy}, tolerance);
}

}  // namespace

void check_fp64(const Subject& subject, const Tolerance& tolerance, ReferenceCache& cache,
                record::Verification& result) {
    if (subject.exact == nullptr) return;
    const comm::Communicator& ranks = subject.team.ranks;
    std::optional<Difference> here;
    together(ranks, [&] { here = compare_own_window(subject, tolerance, cache); });
    const double own = !here ? -1 : std::isnan(here->largest) ? std::numeric_limits<double>::infinity() : here->largest;
    if (const double largest = ranks.max(own); largest >= 0) result.fp64_error = largest;
    std::optional<std::string> finding;
    if (here && here->excess(tolerance) > 1)
        finding =
            fmt::format("a window differs from the network in double precision: {}, at row {}, column {}, channel {}",
                        to_text(*here, tolerance), here->row, here->column, here->channel);
    if (const auto all = ranks.agree(finding)) result.reasons.push_back(*all);
}

}  // namespace pb::run
