// report.html: one file that shows the results of one or several studies in a browser, without a network. The page and
// its scripts are in src/report/html; what is added here are data: the lines of results.jsonl as they are, the tables
// of metrics and settings, and the pictures beside the results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pb {

/// The page over results files, in their order. A last line that a killed run left unfinished is left out.
/// Throws UsageError as load_results does.
[[nodiscard]] std::string html_text(const std::vector<std::filesystem::path>& results);

/// html_text() as a file that is complete or not there at all.
void write_html(const std::vector<std::filesystem::path>& results, const std::filesystem::path& file);

}  // namespace pb
