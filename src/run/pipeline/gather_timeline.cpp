#include "run/pipeline/gather_timeline.hpp"

#include "record/row.hpp"
#include "run/pipeline/clock_offset.hpp"

namespace pb::run {

namespace {

/// Converts the spans to rank 0's clock, in seconds since `origin_s`.
record::Timeline align(const LoggedPass& pass, const ClockOffset& clock, double origin_s) {
    const auto since = [&](double own_s) { return own_s - clock.offset_s - origin_s; };
    record::Timeline timeline{pass.spans.spans(), pass.spans.num_dropped(), clock.error_s, pass.is_timed};
    for (record::Span& span : timeline.spans) {
        span.begin_s = since(span.begin_s);
        span.end_s = since(span.end_s);
    }
    return timeline;
}

}  // namespace

void gather_timeline(const Team& team, const plan::Topology& topology, const LoggedPass& mine,
                     std::vector<record::RankTrace>& ranks) {
    const ClockOffset clock = measure_clock_offset(team, topology);
    const double origin_s = team.ranks.min(mine.begin_s - clock.offset_s);
    const auto rows = team.ranks.gather(record::pack(align(mine, clock, origin_s)));
    for (size_t rank = 0; rank < rows.size(); ++rank)
        ranks.at(rank).timeline = record::unpack<record::Timeline>(rows[rank]);
}

}  // namespace pb::run
