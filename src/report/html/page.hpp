// Writes report.html: one file that shows the results of one or several studies in a browser, without a network. The
// page and its scripts are in src/report/html. This code adds the data: the lines of results.jsonl as they are, the
// tables of metrics and settings, and the pictures beside the results.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace pb::report {

/// Returns the page for these results files, in this order. Leaves out a last line that a killed run did not finish.
/// Throws UsageError as load_results does.
[[nodiscard]] std::string html_text(const std::vector<std::filesystem::path>& results);

/// Writes html_text() to a file. The file is either complete or not there at all.
void write_html(const std::vector<std::filesystem::path>& results, const std::filesystem::path& file);

/// Encodes bytes in Base64 (RFC 4648, section 4). The page embeds its pictures this way.
[[nodiscard]] std::string base64_of(std::string_view bytes);

}  // namespace pb::report
