// How fast messages travel between two ranks, there and back.
#pragma once

#include "comm/communicator.hpp"

namespace pb {

struct PingPong {
    double latency_s = 0;    // of a message of one byte, one way
    double bytes_per_s = 0;  // of messages of 4 MiB, one way
};

/// Collective over `world`; takes about 0.1 s on any network above 1 GB/s, at most a few messages on a slow one. The
/// other ranks sleep meanwhile, so that nobody else uses the network. The same result on all ranks.
[[nodiscard]] PingPong ping_pong(const Communicator& world, int first, int second);

}  // namespace pb
