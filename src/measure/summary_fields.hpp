// Lists the fields of a Summary and its parts as written in a point's line. Its figures are listed in the table of
// metrics.
#pragma once

#include "measure/summary.hpp"
#include "record/fields.hpp"

namespace pb::measure {

template <class V, record::Like<Bottleneck::Loss> L>
void fields(V& v, L& loss) {
    v("class", loss.limit);
    v("share", loss.share);
}

template <class V, record::Like<Bottleneck> B>
void fields(V& v, B& bottleneck) {
    v("class", bottleneck.limit);
    v("share", bottleneck.share);
    v("evidence", bottleneck.evidence);
    v("advice", bottleneck.advice);
    v("losses", bottleneck.losses, "what costs 1 % or more beside the network, the largest first");
}

/// The memory of a rank is written with the rank's raw values.
template <class V, record::Like<RankSummary> R>
void fields(V& v, R& rank) {
    v("rank", record::count(rank.rank));
    v("num_patches", record::count(rank.num_patches));
    v("patches_per_s", rank.patches_per_s);
    v("wall_s", rank.wall_s);
}

template <class V, record::Like<Summary> S>
void fields(V& v, S& summary) {
    v("simulated", record::derived([&] { return summary.simulated; }), "engine timed: no network ran");
    v("validity", summary.validity);
    v("reasons", summary.reasons);
    v("notes", summary.notes);
    v("stop_reason", record::or_null(summary.stop_reason));
    v("outlier_reps", record::later(summary.outlier_reps),
      "repetitions beyond Tukey's fences, counted from 0: marked, not dropped");
    v("slowest_rank", record::count(summary.slowest_rank));
    v("allocated_peak_rank", record::count(summary.allocated_peak_rank));
    v("context", record::later(summary.context), "what was measured: image, noise, weights, device, ranks");
    v("bottleneck", summary.bottleneck, "what limits the point; shares are of the pipeline's time");
    v("ranks", record::later(summary.ranks), "medians over repetitions");
}

}  // namespace pb::measure
