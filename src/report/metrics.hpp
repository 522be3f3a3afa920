// Names every reported figure once: key, unit, meaning, reductions and direction. The terminal table, CSV, JSON, FOM
// lines and the glossary loop over this table. A new metric is one row.
#pragma once

#include "measure/summary.hpp"

#include "patchbench/base/enum_names.hpp"

#include <optional>
#include <span>
#include <string>

namespace pb::report {

enum class Better : uint8_t { higher, lower, neither };

constexpr auto enum_names(Better) {
    return std::to_array<EnumName<Better>>(
        {{Better::higher, "higher"}, {Better::lower, "lower"}, {Better::neither, "-"}});
}

/// Gives access to a figure in a Summary: reports read it, and the reader of results writes it.
struct MetricAccess {
    std::optional<double> (*get)(const measure::Summary&);
    void (*set)(measure::Summary&, std::optional<double>);
    std::optional<double> operator()(const measure::Summary& summary) const { return get(summary); }
};

struct Metric {
    const char* key;         // snake_case; ends with its unit if it has one: "pipeline_s"
    const char* unit;        // one word: "s", "patches/s", "ratio"
    const char* heading;     // column in the terminal table; "" if not a headline
    const char* meaning;     // one sentence for the glossary
    const char* over_ranks;  // reduction over ranks: "max per repetition", "max", "-"
    const char* over_reps;   // reduction over repetitions: "median", "-"
    Better better;
    MetricAccess value;
    std::string (*cell)(const measure::Summary&) = nullptr;   // cell text, if it says more than the value
    int need = 0;                                             // of a headline: when a narrow table leaves it out
    std::string (*brief)(const measure::Summary&) = nullptr;  // cell text of a narrow table (tables/points_table.cpp)

    /// Headlines appear in the terminal table and as FOM lines.
    [[nodiscard]] constexpr bool is_headline() const { return heading[0] != '\0'; }
};

[[nodiscard]] std::span<const Metric> metrics();

/// Returns the metrics as the Markdown table in docs/reading-results.md.
[[nodiscard]] std::string glossary();

/// Returns the possible limits of a point as a Markdown table for the same page.
[[nodiscard]] std::string limit_glossary();

}  // namespace pb::report
