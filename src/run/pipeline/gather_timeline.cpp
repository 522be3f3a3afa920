#include "run/pipeline/gather_timeline.hpp"

#include "run/pipeline/clock_offset.hpp"

namespace pb {

namespace {

// A timeline travels as numbers, in the order of these two functions.
std::vector<double> pack_timeline(const LoggedPass& pass, const ClockOffset& clock, double origin_s) {
    const auto since = [&](double own_s) { return own_s - clock.offset_s - origin_s; };
    std::vector<double> row{static_cast<double>(pass.spans.num_dropped()), clock.error_s, pass.is_timed ? 1.0 : 0.0};
    for (const Span& span : pass.spans.spans())
        for (const double value :
             {static_cast<double>(span.stage), static_cast<double>(span.batch), since(span.begin_s), since(span.end_s)})
            row.push_back(value);
    return row;
}

Timeline unpack_timeline(const std::vector<double>& row) {
    Timeline timeline;
    auto next = row.begin();
    timeline.num_dropped = static_cast<int64_t>(*next++);
    timeline.clock_error_s = *next++;
    timeline.is_timed = *next++ != 0;
    while (next != row.end()) {
        Span& span = timeline.spans.emplace_back();
        span.stage = static_cast<Stage>(static_cast<int>(*next++));
        span.batch = static_cast<int64_t>(*next++);
        span.begin_s = *next++;
        span.end_s = *next++;
    }
    return timeline;
}

}  // namespace

void gather_timeline(const Team& team, const Topology& topology, const LoggedPass& mine,
                     std::vector<RankTrace>& ranks) {
    const ClockOffset clock = measure_clock_offset(team, topology);
    const double origin_s = team.ranks.min(mine.begin_s - clock.offset_s);
    const auto rows = team.ranks.gather(pack_timeline(mine, clock, origin_s));
    for (size_t rank = 0; rank < rows.size(); ++rank) ranks.at(rank).timeline = unpack_timeline(rows[rank]);
}

}  // namespace pb
