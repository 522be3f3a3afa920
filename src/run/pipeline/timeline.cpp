#include "run/pipeline/timeline.hpp"

#include "record/row.hpp"

#include <limits>
#include <span>

namespace pb::run {

namespace {

constexpr int kClockTag = 18;
constexpr int kQuestions = 20;

void send(const comm::Communicator& ranks, double value, int to) {
    ranks.send(std::as_bytes(std::span(&value, 1)), to, kClockTag);
}

double receive(const comm::Communicator& ranks, int from) {
    double value = 0;
    ranks.receive(std::as_writable_bytes(std::span(&value, 1)), from, kClockTag);
    return value;
}

void answer(const comm::Communicator& ranks, int from, const std::function<double()>& clock) {
    for (int i = 0; i < kQuestions; ++i) {
        (void)receive(ranks, from);
        send(ranks, clock(), from);
    }
}

ClockOffset ask(const comm::Communicator& ranks, const std::function<double()>& clock) {
    ClockOffset best{0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < kQuestions; ++i) {
        const double before = clock();
        send(ranks, before, 0);
        const double root = receive(ranks, 0);
        const double after = clock();
        const double error_s = (after - before) / 2;
        if (error_s < best.error_s) best = {before + error_s - root, error_s};
    }
    return best;
}

/// Converts the spans to rank 0's clock, in seconds since `origin_s`.
record::Timeline align(const LoggedPass& pass, const ClockOffset& clock, double origin_s) {
    const auto since = [&](double own_s) { return own_s - clock.offset_s - origin_s; };
    record::Timeline timeline{pass.spans.spans(), pass.spans.num_dropped(), clock.error_s,
                              pass.is_timed ? record::TimelineOf::repetition : record::TimelineOf::warm_up};
    for (record::Span& span : timeline.spans) {
        span.begin_s = since(span.begin_s);
        span.end_s = since(span.end_s);
    }
    return timeline;
}

}  // namespace

ClockOffset measure_clock_offset(const Team& team, const std::function<double()>& clock) {
    ClockOffset mine;
    for (const int asker : team.first_elsewhere) {
        if (team.ranks.is_root()) answer(team.ranks, asker, clock);
        if (team.ranks.rank() == asker) mine = ask(team.ranks, clock);
    }
    // The ranks of a host share its clock. The first rank of the host is the first rank of the node's communicator.
    return {team.node.broadcast(mine.offset_s), team.node.broadcast(mine.error_s)};
}

void gather_timeline(const Team& team, const LoggedPass& mine, std::vector<record::RankTrace>& ranks) {
    const ClockOffset clock = measure_clock_offset(team);
    const double origin_s = team.ranks.min(mine.begin_s - clock.offset_s);
    const auto rows = team.ranks.gather(record::pack(align(mine, clock, origin_s)));
    for (size_t rank = 0; rank < rows.size(); ++rank)
        ranks.at(rank).timeline = record::unpack<record::Timeline>(rows[rank]);
}

}  // namespace pb::run
