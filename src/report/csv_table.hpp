// Writes a table as RFC 4180 text, from rows that name their cells.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::report {

/// Pairs of column and cell, in order. The header is the columns of a row without values, so header and rows always
/// agree.
using CsvRow = std::vector<std::pair<std::string, std::string>>;

/// Returns the header and the rows; lines end with \n.
[[nodiscard]] std::string csv_of(const CsvRow& header, const std::vector<CsvRow>& rows);

// A number becomes the shortest text that reads back as the same number. It becomes empty when it is absent, NaN or
// infinite.
[[nodiscard]] std::string number_cell(const std::optional<double>& value);
template <class Integer>
[[nodiscard]] std::string integer_cell(const std::optional<Integer>& value) {
    return value ? std::to_string(*value) : "";
}

}  // namespace pb::report
