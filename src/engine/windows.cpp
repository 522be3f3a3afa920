#include "engine/windows.hpp"

#include "base/engine_support.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace pb::engine {

namespace {

std::string text_of(const Shape& s) { return fmt::format("{} x {} x {} x {}", s.n, s.c, s.h, s.w); }

void check_view(const ExpectedViews& expected, const BatchView& view, int64_t channels, const std::string& which) {
    const auto& s = view.shape;
    const std::string where = "engine: the " + which + " of " + std::string(name_of(expected.kind)) + ", " + text_of(s);
    require(view.pointer != nullptr, where + ", is nowhere");
    require(s.n > 0 && s.h > 0 && s.w > 0, where + ", is empty");
    require(s.c == channels, fmt::format("{}, should have {} channels", where, channels));
    require(s.h % expected.step == 0 && s.w % expected.step == 0,
            fmt::format("{}, should have extents that are multiples of {}", where, expected.step));
    require(view.dtype == expected.dtype, where + ", should be " + std::string(name_of(expected.dtype)));
    require(view.layout == expected.layout, where + ", should be " + std::string(name_of(expected.layout)));
    require(view.device == expected.device, where + ", is on another device than the network");
}

void check_index_limit(const ExpectedViews& expected, const Shape& shape) {
    constexpr int64_t kLimit = std::numeric_limits<int32_t>::max();
    const int64_t widest = expected.widest_map;
    if (shape.h <= kLimit / widest / shape.w) return;
    throw IndexLimit(
        fmt::format("engine: a window of {} x {} has 2^31 elements or more in the widest map of {} ({} channels): "
                    "use windows of at most {} Mpixel",
                    shape.h, shape.w, name_of(expected.kind), widest, kLimit / widest / 1'000'000));
}

BatchView windows_of(const BatchView& view, const Range& windows) {
    BatchView part = view;
    part.pointer = static_cast<std::byte*>(view.pointer) +
                   static_cast<size_t>(windows.begin) * (view.bytes() / static_cast<size_t>(view.shape.n));
    part.shape.n = windows.size();
    return part;
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

ExpectedViews expected_views(const Weights& weights, const EngineOptions& options) {
    const network::NetworkFacts& facts = weights.facts();
    return {.kind = facts.kind,
            .channels_in = weights.has_layers() ? weights.graph().channels_in() : weights.card->channels_in(),
            .channels_out = weights.channels(),
            .step = facts.step,
            .widest_map = static_cast<int64_t>(facts.widest_map),
            .dtype = storage_of(options.engine, options.precision),
            .layout = options.layout,
            .device = options.device};
}

void check_views(const ExpectedViews& expected, const BatchView& in, const BatchView& out) {
    check_view(expected, in, expected.channels_in, "input");
    check_view(expected, out, expected.channels_out, "output");
    require(in.shape.n == out.shape.n && in.shape.h == out.shape.h && in.shape.w == out.shape.w,
            "engine: the input, " + text_of(in.shape) + ", and the output, " + text_of(out.shape) + ", do not match");
    check_index_limit(expected, in.shape);
}

void AlikeCropPass::check(const BatchView& in, const BatchView& out, std::span<const Rect> cores) const {
    check_views(expected_, in, out);
    require(in.shape.n <= most_windows_ && in.shape.n == std::ssize(cores) &&
                Extent{in.shape.h, in.shape.w} == crop_.window(),
            "engine: windows that a cropped call was not made for");
}

void AlikeCropPass::run_all(const BatchView& in, const BatchView& out, std::span<const Rect> cores,
                            std::vector<StepTime>* sum) {
    check(in, out, cores);
    for (Range windows; windows.end < in.shape.n;) {
        windows = network::alike_from(windows.end, cores);
        StepClock clock;
        run_alike(windows_of(in, windows), windows_of(out, windows), cores[static_cast<size_t>(windows.begin)],
                  sum != nullptr ? &clock : nullptr);
        if (sum != nullptr) add(clock, static_cast<double>(windows.size()) / static_cast<double>(in.shape.n), *sum);
    }
}

void AlikeCropPass::run(const BatchView& in, const BatchView& out, std::span<const Rect> cores) {
    run_all(in, out, cores, nullptr);
}

std::vector<StepTime> AlikeCropPass::run_by_steps(const BatchView& in, const BatchView& out,
                                                  std::span<const Rect> cores) {
    std::vector<StepTime> sum;
    if (!expected_.device.is_cuda()) run_all(in, out, cores, &sum);
    return sum;
}

void TravellingSlabPass::begin_pass(RowExchange* exchange) {
    exchange_ = exchange;
    in_flight_.reset();
}

void TravellingSlabPass::wait_for_rows_of(const std::vector<size_t>& maps) {
    if (in_flight_ && std::ranges::count(maps, *in_flight_) > 0) finish_exchange();
}

void TravellingSlabPass::send_rows_of(size_t map) {
    if (in_flight_) finish_exchange();
    exchange_->start(border_rows(map, network::Side::above), border_rows(map, network::Side::below));
    in_flight_ = map;
}

void TravellingSlabPass::finish_exchange() {
    exchange_->finish();
    in_flight_.reset();
}

BorderRows TravellingSlabPass::border_rows(size_t map, network::Side side) const {
    const auto bytes = [&](const Range& rows) {
        return rows.size() == 0 ? std::span<std::byte>{} : bytes_of(map, rows);
    };
    return {bytes(slab_.sent(map, side)), bytes(slab_.received(map, side))};
}

}  // namespace pb::engine
