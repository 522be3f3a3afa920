#include "engine/native/cropped.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::engine::native {

namespace {

/// The windows from number `begin` on that have one core.
Range alike_from(int64_t begin, std::span<const Rect> cores) {
    const auto first = cores.begin() + begin;
    const auto end = std::find_if(first, cores.end(), [&](const Rect& core) { return core != *first; });
    return {begin, end - cores.begin()};
}

float* window_of(const BatchView& view, int64_t window) {
    return static_cast<float*>(view.pointer) + window * (view.shape.elements() / view.shape.n);
}

void add(const StepClock& clock, double weight, std::vector<StepTime>& sum) {
    sum.resize(clock.times().size(), {.step = {}, .seconds = 0, .part = 0});
    for (size_t i = 0; i < sum.size(); ++i) {
        sum[i].step = clock.times()[i].step;
        sum[i].seconds += clock.times()[i].seconds;
        sum[i].part += weight * clock.times()[i].part;
    }
}

}  // namespace

Cropped::Cropped(Network& network, const network::WindowCrop& crop, int64_t n, const ExpectedViews& expected)
    : network_(network),
      crop_(crop),
      most_windows_(n),
      expected_(expected),
      arena_(crop.place(n)),
      buffer_({}, static_cast<size_t>(arena_.bytes + network.scratch_bytes())) {
    place_.scratch = network.scratch_in(static_cast<std::byte*>(buffer_.pointer()) + arena_.bytes);
    place_.maps.resize(network.graph().size());
}

void Cropped::check(const BatchView& in, const BatchView& out, std::span<const Rect> cores) const {
    check_views(expected_, in, out);
    require(in.shape.n <= most_windows_ && in.shape.n == std::ssize(cores) &&
                Extent{in.shape.h, in.shape.w} == crop_.window(),
            "engine: windows that a cropped call was not made for");
}

Map Cropped::map_at(size_t operation, int64_t n, const Rect& core) const {
    Map map = network_.map_of(operation, n, crop_.window());
    const auto &rows = crop_.rows_of(core), &columns = crop_.columns_of(core);
    map.made = rows.made[operation];
    map.columns = columns.made[operation];
    const auto block = crop_.memory().block_of[operation];
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

void Cropped::place_maps(const BatchView& in, const BatchView& out, const Range& windows, const Rect& core) {
    for (size_t i = 0; i < place_.maps.size(); ++i) place_.maps[i] = map_at(i, windows.size(), core);
    place_.maps.front().rows.values = window_of(in, windows.begin);  // which no step writes
    place_.maps[network_.graph().output()].rows.values = window_of(out, windows.begin);
}

void Cropped::run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    check(in, out, cores);
    for (Range windows; windows.end < in.shape.n;) {
        windows = alike_from(windows.end, cores);
        place_maps(in, out, windows, cores[static_cast<size_t>(windows.begin)]);
        for (size_t step = 0; step < network_.steps().size(); ++step) network_.run_step(step, place_);
    }
}

double Cropped::part_of(const network::Step& step) const {
    const Map& map = place_.maps[step.last];
    return static_cast<double>(map.made.size() * map.columns.size()) / static_cast<double>(map.h * map.w);
}

std::vector<StepTime> Cropped::run_by_steps(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    check(in, out, cores);
    std::vector<StepTime> sum;
    for (Range windows; windows.end < in.shape.n;) {
        windows = alike_from(windows.end, cores);
        place_maps(in, out, windows, cores[static_cast<size_t>(windows.begin)]);
        StepClock clock;
        clock.start();
        for (size_t step = 0; step < network_.steps().size(); ++step) {
            network_.run_step(step, place_);
            clock.add(network_.steps()[step], part_of(network_.steps()[step]));
        }
        add(clock, static_cast<double>(windows.size()) / static_cast<double>(in.shape.n), sum);
    }
    return sum;
}

}  // namespace pb::engine::native
