#include "run/point/link_speed.hpp"

#include <algorithm>

namespace pb::run {

namespace {

constexpr size_t kMostNodes = 4;

comm::PingPong fastest_link(const Team& team) {
    comm::PingPong fastest;
    for (size_t i = 0; i < std::min(kMostNodes, team.first_elsewhere.size()); ++i) {
        const comm::PingPong speed = comm::ping_pong(team.ranks, 0, team.first_elsewhere[i]);
        if (speed.bytes_per_s > fastest.bytes_per_s) fastest = speed;
    }
    return fastest;
}

}  // namespace

void LinkSpeeds::add_to(record::PointTrace& trace, const Team& team) {
    if (!trace.exchange) return;
    auto found = known_.find(&team);
    if (found == known_.end()) found = known_.emplace(&team, fastest_link(team)).first;
    trace.exchange->link_bytes_per_s = found->second.bytes_per_s;
    trace.exchange->link_latency_s = found->second.latency_s;
}

}  // namespace pb::run
