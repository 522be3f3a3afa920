// What limits a point, in words: one class with the figures that speak for it and what to try. Pure. The classes are
// compared by one measure, the share of the pipeline's time that is lost to each; where nothing else costs a fifth, the
// network itself is the limit, and the bounds measured in the same run say in which way.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

struct Summary;

enum class Limit : uint8_t { compute, memory, launch, host, transfer, exchange, imbalance, noise };

template <>
struct EnumNames<Limit> {
    static constexpr std::array<std::pair<Limit, std::string_view>, 8> names{{{Limit::compute, "compute-bound"},
                                                                              {Limit::memory, "memory-bound"},
                                                                              {Limit::launch, "launch-bound"},
                                                                              {Limit::host, "host-bound"},
                                                                              {Limit::transfer, "transfer-bound"},
                                                                              {Limit::exchange, "exchange-bound"},
                                                                              {Limit::imbalance, "imbalance"},
                                                                              {Limit::noise, "noise"}}};
};

/// A loss is named from this share of the pipeline on: without it the point would be 1.25 times as fast. Smaller ones
/// are not told from each other on a shared machine.
inline constexpr double kLossWorthNaming = 0.2;
/// A network that reaches this share of a bound is limited by it: the bound is one large operation, the network many of
/// different sizes one after the other.
inline constexpr double kNearBoundPercent = 50;
/// A convolution that takes less than this, far from every bound, waits for its start: a kernel and LibTorch's way to
/// it cost about 5 us each, for two or three kernels a layer; a parallel region on the CPU costs about as much.
inline constexpr double kLaunchUs = 20;

/// One class, as `--explain` and docs/reading-results.md list it.
struct LimitMeaning {
    Limit limit;
    const char* when;    // it is named
    const char* advice;  // what to try
};
[[nodiscard]] const std::vector<LimitMeaning>& limit_meanings();

struct Bottleneck {
    struct Loss {
        Limit limit;
        double share;  // of the pipeline's time
    };
    Limit limit = Limit::compute;
    std::string evidence;      // "gather and scatter take 31 % of the pipeline"
    std::string advice;        // "more ranks, ..."
    double share = 0;          // of the pipeline's time: what is lost to it, or what the network takes
    std::vector<Loss> losses;  // everything that costs 1 % or more beside the network, the largest first

    [[nodiscard]] std::string text() const;  // "host-bound: <evidence>; try: <advice>"
};

/// Nothing for a point without times.
[[nodiscard]] std::optional<Bottleneck> find_bottleneck(const Summary& summary);

}  // namespace pb
