#include "patchbench/report/metrics.hpp"

#include <fmt/format.h>

namespace pb {

std::string glossary() {
    std::string all = "| key | unit | meaning | over ranks | over repetitions | better |\n|---|---|---|---|---|---|\n";
    for (const auto& metric : metrics())
        all += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", metric.key, metric.unit, metric.meaning,
                           metric.over_ranks, metric.over_reps, name_of(metric.better));
    return all;
}

}  // namespace pb
