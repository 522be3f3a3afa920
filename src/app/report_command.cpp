// patchbench report RESULTS.jsonl...: makes pages and exports from results, also on another machine. Needs no MPI and
// no GPU.
#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/terminal.hpp"
#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"
#include "report/export/exports.hpp"
#include "report/html/page.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <functional>
#include <set>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

constexpr const char* kStdout = "-";

struct ReportArguments {
    std::vector<std::string> results;
    std::string html, csv, markdown;
    report::CsvStyle csv_style = report::CsvStyle::tidy;
    std::vector<std::string> exports;  // FORMAT=FILE
};

struct Output {
    std::string name;  // name in messages: "csv"
    std::string file;
    std::function<std::string()> text;
};

/// Splits FORMAT=FILE.
Output export_output(const std::string& wish, const std::vector<report::ResultsFile>& files) {
    const auto cut = wish.find('=');
    if (cut == std::string::npos || cut + 1 == wish.size())
        throw UsageError("--export " + wish + ": write it as FORMAT=FILE, with - for standard output");
    const report::ExportFormat& format = report::find_export_format(wish.substr(0, cut));
    return {format.name, wish.substr(cut + 1), [&format, &files] { return format.text(files); }};
}

bool holds_valid_points_only(const std::string& wish) {
    return report::find_export_format(wish.substr(0, wish.find('='))).valid_only;
}

/// Returns the requested outputs, or the page when none was requested.
std::vector<Output> outputs_of(const ReportArguments& arguments, const std::vector<fs::path>& results,
                               const std::vector<report::ResultsFile>& files) {
    std::vector<Output> outputs;
    const auto add = [&](const char* name, const std::string& file, std::function<std::string()> text) {
        if (!file.empty()) outputs.push_back({name, file, std::move(text)});
    };
    add("csv", arguments.csv, [&files, style = arguments.csv_style] { return report::csv_text(files, style); });
    add("markdown", arguments.markdown, [&files] { return report::markdown_text(files); });
    for (const auto& wish : arguments.exports) outputs.push_back(export_output(wish, files));
    const std::string beside = (results.front().parent_path() / "report.html").string();
    add("report", outputs.empty() && arguments.html.empty() ? beside : arguments.html,
        [&results] { return report::html_text(results); });
    return outputs;
}

void write(const std::vector<Output>& outputs, const std::vector<fs::path>& results) {
    const auto to_stdout = [](const Output& output) { return output.file == kStdout; };
    const auto num_printed = std::ranges::count_if(outputs, to_stdout);
    if (num_printed > 1) throw UsageError("only one output may go to standard output (-)");
    std::set<fs::path> names;
    for (const auto& output : outputs)
        if (!names.insert(fs::absolute(output.file).lexically_normal()).second)
            throw UsageError("two outputs cannot both be " + output.file + "; name another file for one");
    std::vector<std::string> texts;
    for (const auto& output : outputs) {  // errors occur before the first file is written
        if (!to_stdout(output)) {
            for (const fs::path& result : results) require_not_input(output.file, result);
            check_can_create(output.file);
        }
        texts.push_back(output.text());
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (to_stdout(outputs[i]))
            fmt::print("{}", texts[i]);
        else
            write_whole(outputs[i].file, texts[i]);
    }
    if (num_printed > 0) return;
    for (const auto& output : outputs) fmt::print("{:<8} {}\n", output.name + ":", output.file);
}

ExitCode make_report(const ReportArguments& arguments) {
    std::vector<fs::path> results;
    results.reserve(arguments.results.size());
    for (const fs::path name : arguments.results)
        for (auto& file : report::launches_in(name)) results.push_back(std::move(file));
    std::vector<report::ResultsFile> files;
    const bool page_only = arguments.csv.empty() && arguments.markdown.empty() && arguments.exports.empty();
    if (!page_only)
        for (const auto& file : results) files.push_back(report::load_results(file));
    write(outputs_of(arguments, results, files), results);
    const bool has_verdicts = arguments.csv.empty() || arguments.csv_style == report::CsvStyle::tidy;
    if (const auto points = report::left_out_of_exports(files); !has_verdicts && !points.empty())
        print_text(stderr, "points of the CSV that are not VALID, which --csv-style tidy has a column for: {}\n",
                   fmt::join(points, "; "));
    if (std::ranges::none_of(arguments.exports, holds_valid_points_only)) return ExitCode::ok;
    for (const auto& point : report::left_out_of_exports(files))
        print_text(stderr, "left out of the exports, which hold VALID points: {}\n", point);
    if (report::any_exported(files)) return ExitCode::ok;
    print_text(stderr, "the exports are empty: no point is VALID\n");
    return ExitCode::not_comparable;
}

}  // namespace

void add_report_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<ReportArguments>();
    CLI::App* command =
        app.add_subcommand("report", "pages, tables and exports of results, several files side by side");
    command->add_option("results", arguments->results, "results.jsonl files, or their folders")
        ->required()
        ->check(not_empty());
    command->add_option("--html", arguments->html, "the page (with no option: report.html beside the first file)")
        ->check(not_empty());
    auto* csv = command->add_option("--csv", arguments->csv, "a table, one row a point")->check(not_empty());
    add_choice(*command, "--csv-style", arguments->csv_style, "its columns (default: tidy)")->needs(csv);
    command->add_option("--markdown", arguments->markdown, "a table to paste into an issue")->check(not_empty());
    std::string formats = "for other programs, once for each format";
    for (const auto& format : report::export_formats()) formats += fmt::format("; {}: {}", format.name, format.meaning);
    command->add_option("--export", arguments->exports, formats)->option_text("FORMAT=FILE")->allow_extra_args(false);
    command->footer("- as a file is standard output");
    set_action(*command, chosen, [arguments](const Arguments&) { return make_report(*arguments); });
}

}  // namespace pb::app
