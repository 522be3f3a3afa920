// patchbench compare OLD NEW: shows which points became faster or slower, from results files alone. Needs no MPI and no
// device.
#include "app/options.hpp"
#include "app/terminal.hpp"
#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"
#include "report/results_comparison.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pb::app {

namespace {

struct CompareArguments {
    std::vector<std::string> files, old_files, new_files;
    std::optional<std::string> fail_on;
    bool strict = false;
    std::string markdown;
};

/// Loads the results that `names` stand for. Throws UsageError when one of them is `output`.
std::vector<report::ResultsFile> load_all(const std::vector<std::string>& names, const std::string& output) {
    std::vector<report::ResultsFile> files;
    files.reserve(names.size());
    for (const auto& name : names)
        for (const auto& file : report::launches_in(name)) {
            require_not_input(output, file);
            files.push_back(report::load_results(file));
        }
    return files;
}

/// Accepts either OLD NEW [NEW2 ..] or --old and --new, not both.
void sort_files(CompareArguments& arguments) {
    const bool named = !arguments.old_files.empty() || !arguments.new_files.empty();
    if (named && (!arguments.files.empty() || arguments.old_files.empty() || arguments.new_files.empty()))
        throw UsageError("name the files as OLD NEW [NEW2 ..], or as --old A.. --new B..");
    if (named) return;
    if (arguments.files.size() < 2)
        throw UsageError(
            "compare needs two files: patchbench compare OLD NEW; several launches of a version: "
            "--old A.. --new B..");
    arguments.old_files = {arguments.files.front()};
    arguments.new_files.assign(arguments.files.begin() + 1, arguments.files.end());
}

/// Reads "slower=3%" as 0.03.
double parse_fail_on(const std::string& text) {
    constexpr std::string_view kPrefix = "slower=";
    const bool fits = text.starts_with(kPrefix) && text.ends_with('%');
    double percent = -1;
    const bool is_number =
        fits && config::reads_as(text.substr(kPrefix.size(), text.size() - kPrefix.size() - 1), percent);
    if (!is_number || !(percent >= 0 && percent < 1e6))
        throw UsageError("--fail-on " + text + ": write it as slower=3% (a number of percent that is not negative)");
    return percent / 100;
}

ExitCode compare(CompareArguments arguments) {
    sort_files(arguments);
    const bool is_gate = arguments.fail_on.has_value();
    const double slower = is_gate ? parse_fail_on(*arguments.fail_on) : 0;
    auto comparison = report::compare_results(load_all(arguments.old_files, arguments.markdown),
                                              load_all(arguments.new_files, arguments.markdown));
    if (is_gate) report::judge_by_launches(comparison);
    if (!arguments.markdown.empty()) write_whole(arguments.markdown, report::comparison_markdown(comparison));
    print_text(stdout, "{}", report::comparison_table(comparison, terminal_width(stdout)));
    if (!is_gate) return ExitCode::ok;
    const auto failures = report::regressions(comparison, slower);
    const auto open = report::undecided(comparison, slower);
    for (const auto& point : open) fmt::print("UNSURE --fail-on {}: {}\n", *arguments.fail_on, point);
    if (!open.empty() && !arguments.strict) print_text(stdout, "UNSURE is no failure (--strict: it is one).\n");
    if (report::would_launches_decide(comparison, slower))
        print_text(stdout, "Launches are separate starts: patchbench run STUDY --launches {}\n",
                   measure::kFewestLaunches);
    for (const auto& failure : failures) fmt::print("FAILED --fail-on {}: {}\n", *arguments.fail_on, failure);
    const bool has_failed = !failures.empty() || (arguments.strict && !open.empty());
    return has_failed ? ExitCode::not_comparable : ExitCode::ok;
}

}  // namespace

void add_compare_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<CompareArguments>();
    CLI::App* command = app.add_subcommand("compare", "compare results: which points became faster or slower");
    command->add_option("files", arguments->files,
                        "OLD NEW [NEW2 ..]: results.jsonl files or their folders, or folders that run --launches made; "
                        "all after the first are launches of the new version");
    command->add_option("--old", arguments->old_files, "launches of the old version");
    command->add_option("--new", arguments->new_files, "launches of the new version");
    command->add_option("--fail-on", arguments->fail_on,
                        "slower=3%: exit with 4 when a point is SLOWER by that much, or has no figures any more. Needs "
                        "several launches of each version, 3 at least (run --launches 3): with one it says UNSURE");
    command
        ->add_flag("--strict", arguments->strict,
                   "with --fail-on: exit with 4, too, where it cannot decide (its lines UNSURE)")
        ->needs("--fail-on");
    command->add_option("--markdown", arguments->markdown, "write the table as Markdown into this file as well")
        ->check(not_empty());
    set_action(*command, chosen, [arguments](const Arguments&) { return compare(*arguments); });
}

}  // namespace pb::app
