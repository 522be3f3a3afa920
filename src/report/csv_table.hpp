// A table as RFC 4180 text, from rows that name their cells.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb {

/// Column and cell, in order. The header is the columns of a row without values, so that the two cannot disagree.
using CsvRow = std::vector<std::pair<std::string, std::string>>;

/// Header and rows; lines end with \n.
[[nodiscard]] std::string csv_of(const CsvRow& header, const std::vector<CsvRow>& rows);

// Cells: shortest text that reads back as the same number; empty for what is absent, NaN or infinite.
[[nodiscard]] std::string number_cell(const std::optional<double>& value);
template <class Integer>
[[nodiscard]] std::string integer_cell(const std::optional<Integer>& value) {
    return value ? std::to_string(*value) : "";
}

}  // namespace pb
