// Which of the plans that a library proposes for a fused layer are built and timed. Independent of cuDNN.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace pb::engine::torch_engine {

struct SearchLimits {
    size_t plans = 1;
    double seconds = 0;  // after which no further plan is built, once there is one
};

/// The plans that `build(index)` makes of the first proposals, in their order; it returns an empty optional for one
/// that cannot be built. A plan whose kernel is compiled at run time takes a second or more, and a network has dozens
/// of layers: hence the limit of time. `now_s()` is the clock.
template <class Build, class Clock>
auto build_first(int64_t num_proposed, const SearchLimits& limits, const Build& build, const Clock& now_s) {
    std::vector<typename decltype(build(0))::value_type> built;
    const double end_s = now_s() + limits.seconds;
    for (int64_t i = 0; i < num_proposed && built.size() < limits.plans; ++i) {
        if (!built.empty() && now_s() >= end_s) break;
        if (auto plan = build(i)) built.push_back(*std::move(plan));
    }
    return built;
}

/// Place of the smallest of `seconds`, which are infinite for a plan that does not run; none when none runs.
[[nodiscard]] inline std::optional<size_t> fastest_of(const std::vector<double>& seconds) {
    const auto fastest = std::min_element(seconds.begin(), seconds.end());
    if (fastest == seconds.end() || std::isinf(*fastest)) return std::nullopt;
    return static_cast<size_t>(fastest - seconds.begin());
}

}  // namespace pb::engine::torch_engine
