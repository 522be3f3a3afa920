// Every reported figure, named once: key, unit, meaning, reductions and direction. Table, CSV, JSON, FOM lines and the
// glossary are loops over this table; a new metric is one row.
#pragma once

#include "patchbench/measure/summary.hpp"

#include <optional>
#include <span>

namespace pb {

enum class Better : uint8_t { higher, lower, neither };

struct Metric {
    const char* key;  // snake_case with its unit as ending: "pipeline_s"
    const char* unit;
    const char* meaning;
    const char* over_ranks;  // reduction over ranks: "max per repetition", "max", "-"
    const char* over_reps;   // reduction over repetitions: "median", "-"
    Better better;
    bool headline;  // shown in the terminal table and as a FOM line
    std::optional<double> (*value)(const Summary&);
};

[[nodiscard]] std::span<const Metric> metrics();

}  // namespace pb
