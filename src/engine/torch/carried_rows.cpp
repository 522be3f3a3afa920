#include "engine/torch/carried_rows.hpp"

#include <ATen/ops/empty.h>

#include <utility>

namespace pb::engine::torch_engine {

namespace {

/// All rows of `parts`, one above the other.
at::Tensor join_rows(const std::vector<at::Tensor>& parts) {
    const at::Tensor& first = parts.front();
    int64_t height = 0;
    for (const at::Tensor& part : parts) height += part.size(2);
    at::Tensor joined =
        at::empty({1, first.size(1), height, first.size(3)}, first.options(), at::MemoryFormat::ChannelsLast);
    int64_t row = 0;
    for (const at::Tensor& part : parts) {
        joined.slice(2, row, row + part.size(2)).copy_(part);
        row += part.size(2);
    }
    return joined;
}

at::Tensor copy_of(const at::Tensor& rows) { return rows.clone(at::MemoryFormat::ChannelsLast); }

class OwnRows final : public CarriedRows {
  public:
    explicit OwnRows(const network::BandSchedule& schedule)
        : CarriedRows(schedule),
          chunks_(schedule.graph().size(), std::vector<at::Tensor>(static_cast<size_t>(places()))),
          kept_(schedule.graph().size()) {}

    void clear() override {
        std::ranges::fill(kept_, at::Tensor());
        for (auto& chunks : chunks_) std::ranges::fill(chunks, at::Tensor());
    }

    /// Those of the input are the caller's.
    void add_chunk(int64_t step, size_t map, at::Tensor made) override {
        chunks_[map][place_of(step)] = map == 0 ? copy_of(made) : std::move(made);
    }

    void drop_chunks(int64_t step, size_t map) override {
        const int64_t first_row = schedule().kept(step, map).begin;
        for (int64_t maker = first_held(step); maker <= step; ++maker)
            if (schedule().made(maker, map).end <= first_row) chunks_[map][place_of(maker)].reset();
    }

    void keep(size_t map, const at::Tensor& rows) override { kept_[map] = copy_of(rows); }

    at::Tensor joined(int64_t /*step*/, size_t map, at::Tensor made) override {
        at::Tensor kept = std::exchange(kept_[map], {});
        if (!kept.defined()) return made;
        return made.defined() ? join_rows({kept, made}) : kept;
    }

  private:
    [[nodiscard]] const at::Tensor& chunk_of(int64_t step, size_t map) const override {
        return chunks_[map][place_of(step)];
    }

    std::vector<std::vector<at::Tensor>> chunks_;  // by operation and place; undefined where there is none
    std::vector<at::Tensor> kept_;                 // by operation; undefined where none are kept
};

class FixedRows final : public CarriedRows {
  public:
    FixedRows(const network::BandSchedule& schedule, const at::TensorOptions& options)
        : CarriedRows(schedule), stores_(make_stores(options)) {}

    void clear() override {}

    void add_chunk(int64_t step, size_t map, at::Tensor made) override {
        first_rows(chunk_of(step, map), made.size(2)).copy_(made);
    }

    void drop_chunks(int64_t /*step*/, size_t /*map*/) override {}

    void keep(size_t map, const at::Tensor& rows) override {
        first_rows(stores_[map].front(), rows.size(2)).copy_(rows);
    }

    at::Tensor joined(int64_t step, size_t map, at::Tensor made) override {
        const int64_t num_kept = schedule().made(step, map).begin - schedule().held(step, map).begin;
        if (num_kept == 0) return made;
        const at::Tensor kept = first_rows(stores_[map].front(), num_kept);
        return made.defined() ? join_rows({kept, made}) : copy_of(kept);
    }

  private:
    using Stores = std::vector<std::vector<at::Tensor>>;  // by operation; of a ring one for each place

    static at::Tensor first_rows(const at::Tensor& store, int64_t count) { return store.slice(2, 0, count); }

    [[nodiscard]] Stores make_stores(const at::TensorOptions& options) const {
        const std::vector<int64_t> rows = network::rows_stored(schedule());
        Stores stores(rows.size());
        for (size_t map = 0; map < rows.size(); ++map)
            for (int64_t place = 0; place < (is_ring(map) ? places() : 1) && rows[map] > 0; ++place)
                stores[map].push_back(empty_rows(schedule(), map, rows[map], options));
        return stores;
    }

    [[nodiscard]] const at::Tensor& chunk_of(int64_t step, size_t map) const override {
        return stores_[map][place_of(step)];
    }

    const Stores stores_;
};

}  // namespace

CarriedRows::CarriedRows(const network::BandSchedule& schedule)
    : schedule_(schedule), is_ring_(network::rings_of(schedule)), places_(network::places_of_chunks(schedule)) {}

at::Tensor CarriedRows::rows_of_ring(int64_t step, size_t map, const Range& rows) const {
    std::vector<at::Tensor> parts;
    for (int64_t maker = first_held(step); maker <= step; ++maker) {
        const Range made = schedule_.made(maker, map);
        const Range part{std::max(rows.begin, made.begin), std::min(rows.end, made.end)};
        if (part.size() > 0)
            parts.push_back(chunk_of(maker, map).slice(2, part.begin - made.begin, part.end - made.begin));
    }
    return parts.size() == 1 ? parts.front() : join_rows(parts);
}

at::Tensor empty_rows(const network::BandSchedule& schedule, size_t map, int64_t rows,
                      const at::TensorOptions& options) {
    const network::MapShape& shape = schedule.graph().shape(map);
    return at::empty({1, shape.channels, rows, schedule.shape().image.w / shape.scale}, options,
                     at::MemoryFormat::ChannelsLast);
}

std::unique_ptr<CarriedRows> make_own_rows(const network::BandSchedule& schedule) {
    return std::make_unique<OwnRows>(schedule);
}

std::unique_ptr<CarriedRows> make_fixed_rows(const network::BandSchedule& schedule, const at::TensorOptions& options) {
    return std::make_unique<FixedRows>(schedule, options);
}

}  // namespace pb::engine::torch_engine
