#include "report/csv_table.hpp"

#include "config/text.hpp"

#include <cmath>

namespace pb::report {

namespace {

std::string quoted(const std::string& field) {
    if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
    std::string text = "\"";
    for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + "\"";
}

template <class Pick>
std::string line_of(const CsvRow& row, Pick pick) {
    std::string line;
    for (const auto& cell : row) {
        if (&cell != row.data()) line += ',';
        line += quoted(pick(cell));
    }
    return line + "\n";
}

}  // namespace

std::string csv_of(const CsvRow& header, const std::vector<CsvRow>& rows) {
    std::string text = line_of(header, [](const auto& cell) { return cell.first; });
    for (const auto& row : rows) text += line_of(row, [](const auto& cell) { return cell.second; });
    return text;
}

std::string number_cell(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? config::format_setting(*value) : "";
}

}  // namespace pb::report
