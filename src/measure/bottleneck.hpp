// Names what limits a point: one class, the figures that support it, and what to try. Pure. The classes are compared by
// the share of the pipeline's time that each one costs. When no other loss reaches a fifth, the network is the limit,
// and the bounds measured in the same run tell compute, memory and launch apart.
#pragma once

#include "plan/plan.hpp"
#include "record/point.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

struct Summary;

enum class Limit : uint8_t { compute, memory, launch, host, transfer, exchange, imbalance, starved, noise };

constexpr auto enum_names(Limit) {
    return std::to_array<EnumName<Limit>>({{Limit::compute, "compute-bound"},
                                           {Limit::memory, "memory-bound"},
                                           {Limit::launch, "launch-bound"},
                                           {Limit::host, "host-bound"},
                                           {Limit::transfer, "transfer-bound"},
                                           {Limit::exchange, "exchange-bound"},
                                           {Limit::imbalance, "imbalance"},
                                           {Limit::starved, "cpu-starved"},
                                           {Limit::noise, "noise"}});
}

/// A loss is named when it takes at least this share of the pipeline. Without it the point would be 1.25 times as fast.
/// Smaller losses cannot be told apart on a shared machine.
inline constexpr double kLossWorthNaming = 0.2;
/// A network that reaches this percentage of a bound is limited by it. The percentage is low because the bound is
/// one large operation, and the network runs many operations of different sizes one after the other.
inline constexpr double kNearBoundPercent = 50;
/// A convolution that takes less time than this, far from every bound, is limited by its launch. A kernel launch and
/// the path through LibTorch cost about 5 us each, for two or three kernels per layer. A parallel region on the CPU
/// costs about the same.
inline constexpr double kLaunchUs = 20;

/// What to try, and for which points it is possible and not the case already. Null: for all.
struct Advice {
    const char* text;
    bool (*applies)(const plan::Point& point) = nullptr;
};

/// One class, as listed by `--explain` and docs/reading-results.md.
struct LimitMeaning {
    Limit limit;
    const char* when;  // when the class is named
    std::vector<Advice> advice;

    /// All of the advice, or what applies to a point.
    [[nodiscard]] std::string advice_text(const plan::Point* point = nullptr) const;
};
[[nodiscard]] const std::vector<LimitMeaning>& limit_meanings();

struct Bottleneck {
    struct Loss {
        Limit limit;
        double share;  // share of the pipeline's time
    };
    Limit limit = Limit::compute;
    std::string evidence;      // "gather and scatter take 31 % of the pipeline"
    std::string advice;        // "more ranks, ..."
    double share = 0;          // of the pipeline's time: the loss, or the network's share
    std::vector<Loss> losses;  // losses of 1 % or more beside the network, largest first
};

/// Returns nothing for a point without times.
[[nodiscard]] std::optional<Bottleneck> find_bottleneck(const Summary& summary, const record::PointTrace& trace);

}  // namespace pb::measure
