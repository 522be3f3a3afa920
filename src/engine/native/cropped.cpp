#include "engine/native/cropped.hpp"

namespace pb::engine::native {

Cropped::Cropped(Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected)
    : network_(network),
      windows_(crop, n, expected),
      arena_(crop.place(n)),
      buffer_({}, static_cast<size_t>(arena_.bytes + network.scratch_bytes())) {
    place_.scratch = network.scratch_in(static_cast<std::byte*>(buffer_.pointer()) + arena_.bytes);
    place_.maps.resize(network.graph().size());
}

Map Cropped::map_at(size_t operation, int64_t n, const Rect& core) const {
    Map map = network_.map_of(operation, n, windows_.crop().window());
    const auto &rows = windows_.crop().rows_of(core), &columns = windows_.crop().columns_of(core);
    map.made = rows.made[operation];
    map.columns = columns.made[operation];
    const auto block = windows_.crop().memory().block_of[operation];
    if (!block) {
        map.rows.places = map.h;
        return map;
    }
    map.rows.values = block_in(buffer_.pointer(), arena_, *block);
    map.rows.first = rows.held[operation].begin;
    map.rows.places = rows.held[operation].size();
    map.rows.first_column = columns.held[operation].begin;
    map.rows.row_floats = columns.held[operation].size() * map.channels;
    return map;
}

void Cropped::place_maps(const BatchView& in, const BatchView& out, const Rect& core) {
    for (size_t i = 0; i < place_.maps.size(); ++i) place_.maps[i] = map_at(i, in.shape.n, core);
    place_.maps.front().rows.values = static_cast<float*>(in.pointer);  // which no step writes
    place_.maps[network_.graph().output()].rows.values = static_cast<float*>(out.pointer);
}

void Cropped::run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    windows_.each(in, out, cores, [this](const BatchView& some_in, const BatchView& some_out, const Rect& core) {
        place_maps(some_in, some_out, core);
        for (size_t step = 0; step < network_.steps().size(); ++step) network_.run_step(step, place_);
    });
}

double Cropped::part_of(const network::Step& step) const {
    const Map& map = place_.maps[step.last];
    return static_cast<double>(map.made.size() * map.columns.size()) / static_cast<double>(map.h * map.w);
}

std::vector<StepTime> Cropped::run_by_steps(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    const auto timed = [this](const BatchView& some_in, const BatchView& some_out, const Rect& core, StepClock& clock) {
        place_maps(some_in, some_out, core);
        clock.start();
        for (size_t step = 0; step < network_.steps().size(); ++step) {
            network_.run_step(step, place_);
            clock.add(network_.steps()[step], part_of(network_.steps()[step]));
        }
    };
    return windows_.each_by_steps(in, out, cores, timed);
}

}  // namespace pb::engine::native
