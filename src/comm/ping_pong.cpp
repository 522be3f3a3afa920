#include "comm/ping_pong.hpp"

#include "base/stopwatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace pb::comm {
namespace {

constexpr int kPingTag = 0x5049;
constexpr size_t kBytes = size_t{4} << 20;
constexpr int kShortRounds = 50;
constexpr double kSeconds = 0.05;  // all timed rounds together
constexpr double kMaxRounds = 64;

/// One of the two ends.
class End {
  public:
    End(const Communicator& world, int other, bool serves) : world_(world), other_(other), serves_(serves) {}

    /// Seconds of the fastest round trip: the speed of the link when no other process delays the ranks.
    [[nodiscard]] double rounds(int count, size_t bytes) {
        const std::span message(buffer_.data(), bytes);
        double fastest_s = std::numeric_limits<double>::max();
        for (int round = 0; round < count; ++round) {
            const Stopwatch watch;
            if (serves_) world_.send(message, other_, kPingTag);
            world_.receive(message, other_, kPingTag);
            if (!serves_) world_.send(message, other_, kPingTag);
            fastest_s = std::min(fastest_s, watch.seconds());
        }
        return fastest_s;
    }

    /// Returns the serving end's `count` on both ends.
    [[nodiscard]] int agree(int count) const {
        const std::span bytes = std::as_writable_bytes(std::span(&count, 1));
        if (serves_)
            world_.send(bytes, other_, kPingTag);
        else
            world_.receive(bytes, other_, kPingTag);
        return count;
    }

  private:
    const Communicator& world_;
    int other_;
    bool serves_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(kBytes);
};

PingPong measure(End end) {
    (void)end.rounds(1, 1);       // the first message makes the connection
    (void)end.rounds(1, kBytes);  // and this one registers the memory
    PingPong result;
    result.latency_s = end.rounds(kShortRounds, 1) / 2;
    const double one_s = end.rounds(1, kBytes);
    const int count = end.agree(static_cast<int>(std::clamp(std::ceil(kSeconds / one_s), 1.0, kMaxRounds)));
    result.bytes_per_s = 2 * static_cast<double>(kBytes) / end.rounds(count, kBytes);
    return result;
}

}  // namespace

PingPong ping_pong(const Communicator& world, int first, int second) {
    PingPong result;
    if (world.rank() == first) result = measure(End(world, second, true));
    if (world.rank() == second) result = measure(End(world, first, false));
    world.sleeping_barrier();
    return {world.broadcast(result.latency_s, first), world.broadcast(result.bytes_per_s, first)};
}

}  // namespace pb::comm
