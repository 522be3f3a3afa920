#include "report/metrics.hpp"

#include <fmt/format.h>

namespace pb::report {

std::string glossary() {
    std::string all = "| key | unit | meaning | over ranks | over repetitions | better |\n|---|---|---|---|---|---|\n";
    for (const auto& metric : metrics())
        all += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", metric.key, metric.unit, metric.meaning,
                           metric.over_ranks, metric.over_reps, name_of(metric.better));
    return all;
}

std::string limit_glossary() {
    std::string all = "| class | named when | what to try |\n|---|---|---|\n";
    for (const auto& meaning : measure::limit_meanings())
        all += fmt::format("| {} | {} | {} |\n", name_of(meaning.limit), meaning.when, meaning.advice_text());
    return all;
}

}  // namespace pb::report
