#include "network/parts/band_memory.hpp"

namespace pb::network {

namespace {

class BandPlanner {
  public:
    explicit BandPlanner(const BandSchedule& schedule)
        : graph_(schedule.graph()),
          schedule_(schedule),
          steps_(steps_of(graph_, fusing_of(schedule.shape().unit))),
          maps_(graph_.size()) {}

    BandMemory run() {
        const std::vector<size_t> last_readers = last_readers_of(graph_, steps_);
        place(0, {0, static_cast<int64_t>(last_readers.front()) + 2});
        for (size_t s = 0; s < steps_.size(); ++s) {
            const size_t map = steps_[s].last;
            if (map != graph_.output())
                place(map, {static_cast<int64_t>(s) + 1, static_cast<int64_t>(last_readers[map]) + 2});
        }
        return {std::move(maps_), place_blocks(blocks_, 0)};
    }

  private:
    /// `life`: of a map that is no ring, in moments of a step: 0 takes the input, moment s + 1 runs steps_[s].
    void place(size_t operation, const Range& life) {
        const MapShape& shape = graph_.shape(operation);
        BandMap& map = maps_[operation];
        map.row_bytes = schedule_.shape().image.w / shape.scale * shape.channels * kNativePath.value_bytes;
        map.places = schedule_.most(&BandSchedule::held, operation);
        const int64_t kept = schedule_.most(&BandSchedule::kept, operation);
        map.is_ring = kept > schedule_.most(&BandSchedule::made, operation);
        const Range always{0, std::ssize(steps_) + 1};
        if (map.is_ring) map.places = round_up(map.places, kWinogradTile);
        map.block = add_block(map.places * map.row_bytes, map.is_ring ? always : life);
        if (map.is_ring || kept == 0) return;
        map.kept_block = add_block(kept * map.row_bytes, always);
    }

    [[nodiscard]] size_t add_block(int64_t bytes, const Range& life) {
        blocks_.blocks.push_back({.size = {.fixed_bytes = bytes},
                                  .begin = static_cast<size_t>(life.begin),
                                  .end = static_cast<size_t>(life.end)});
        return blocks_.blocks.size() - 1;
    }

    const Graph& graph_;
    const BandSchedule& schedule_;
    std::vector<Step> steps_;
    std::vector<BandMap> maps_;
    MemoryPlan blocks_;
};

}  // namespace

BandMemory plan_bands(const BandSchedule& schedule) { return BandPlanner(schedule).run(); }

}  // namespace pb::network
