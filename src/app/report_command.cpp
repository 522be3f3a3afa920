// patchbench report RESULTS.jsonl...: pages and exports from results, later and elsewhere: no MPI, no GPU.
#include "app/commands.hpp"

#include "patchbench/report/html.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pb {

namespace {

struct ReportArguments {
    std::vector<std::string> results;
    std::string html;
};

ExitCode make_report(const ReportArguments& arguments) {
    const std::vector<std::filesystem::path> results(arguments.results.begin(), arguments.results.end());
    const auto html =
        arguments.html.empty() ? results.front().parent_path() / "report.html" : std::filesystem::path(arguments.html);
    write_html(results, html);
    fmt::print("report:  {}\n", html.string());
    return ExitCode::ok;
}

}  // namespace

void add_report_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<ReportArguments>();
    CLI::App* command = app.add_subcommand("report", "make a page of results, several files side by side");
    command->add_option("results", arguments->results, "results.jsonl files")->required();
    command->add_option("--html", arguments->html, "the page (default: report.html beside the first file)");
    command->callback(
        [&chosen, arguments] { chosen = [arguments](const Arguments&) { return make_report(*arguments); }; });
}

}  // namespace pb
