// Measures latency and bandwidth between two ranks by messages there and back.
#pragma once

#include "comm/communicator.hpp"

namespace pb::comm {

struct PingPong {
    double latency_s = 0;    // one way, message of one byte
    double bytes_per_s = 0;  // one way, messages of 4 MiB
};

/// Collective over `world`; takes about 0.1 s on any network above 1 GB/s, and sends only a few messages on a slow one.
/// The other ranks sleep meanwhile, so that they do not use the network. Returns the same result on all ranks.
[[nodiscard]] PingPong ping_pong(const Communicator& world, int first, int second);

}  // namespace pb::comm
