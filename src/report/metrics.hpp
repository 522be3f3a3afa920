// Every reported figure, named once: key, unit, meaning, reductions and direction. Table, CSV, JSON, FOM lines and the
// glossary are loops over this table; a new metric is one row.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <span>
#include <string>

namespace pb {

enum class Better : uint8_t { higher, lower, neither };

template <>
struct EnumNames<Better> {
    static constexpr std::array<std::pair<Better, std::string_view>, 3> names{
        {{Better::higher, "higher"}, {Better::lower, "lower"}, {Better::neither, "-"}}};
};

/// Where a Summary keeps a figure: read for reports, written when results are read back.
struct MetricAccess {
    std::optional<double> (*get)(const Summary&);
    void (*set)(Summary&, std::optional<double>);
    std::optional<double> operator()(const Summary& summary) const { return get(summary); }
};

struct Metric {
    const char* key;         // snake_case with its unit as ending where it has one: "pipeline_s"
    const char* unit;        // one word: "s", "patches/s", "ratio"
    const char* heading;     // of its column in the terminal table; "" when it is not a headline
    const char* meaning;     // one sentence for the glossary
    const char* over_ranks;  // reduction over ranks: "max per repetition", "max", "-"
    const char* over_reps;   // reduction over repetitions: "median", "-"
    Better better;
    MetricAccess value;
    std::string (*cell)(const Summary&) = nullptr;  // text in the terminal table, where it says more than the value

    /// Shown in the terminal table and as a FOM line.
    [[nodiscard]] constexpr bool is_headline() const { return heading[0] != '\0'; }
};

[[nodiscard]] std::span<const Metric> metrics();

/// The metrics as a Markdown table: what docs/reading-results.md holds.
[[nodiscard]] std::string glossary();

/// What can limit a point, as a Markdown table: there, too.
[[nodiscard]] std::string limit_glossary();

}  // namespace pb
