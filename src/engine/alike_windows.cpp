#include "engine/alike_windows.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::engine {

namespace {

/// The windows from number `begin` on that have one core.
Range alike_from(int64_t begin, std::span<const Rect> cores) {
    const auto first = cores.begin() + begin;
    const auto end = std::find_if(first, cores.end(), [&](const Rect& core) { return core != *first; });
    return {begin, end - cores.begin()};
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

void AlikeWindows::check(const BatchView& in, const BatchView& out, std::span<const Rect> cores) const {
    check_views(expected_, in, out);
    require(in.shape.n <= most_windows_ && in.shape.n == std::ssize(cores) &&
                Extent{in.shape.h, in.shape.w} == crop_.window(),
            "engine: windows that a cropped call was not made for");
}

void AlikeWindows::each(const BatchView& in, const BatchView& out, std::span<const Rect> cores, const Run& run) const {
    check(in, out, cores);
    for (Range windows; windows.end < in.shape.n;) {
        windows = alike_from(windows.end, cores);
        run(windows_of(in, windows), windows_of(out, windows), cores[static_cast<size_t>(windows.begin)]);
    }
}

std::vector<StepTime> AlikeWindows::each_by_steps(const BatchView& in, const BatchView& out,
                                                  std::span<const Rect> cores, const TimedRun& run) const {
    std::vector<StepTime> sum;
    each(in, out, cores, [&](const BatchView& some_in, const BatchView& some_out, const Rect& core) {
        StepClock clock;
        run(some_in, some_out, core, clock);
        add(clock, static_cast<double>(some_in.shape.n) / static_cast<double>(in.shape.n), sum);
    });
    return sum;
}

}  // namespace pb::engine
