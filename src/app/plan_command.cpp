// patchbench plan STUDY.yaml: shows what `run` would do, without a GPU and without mpirun.
#include "app/commands.hpp"
#include "app/options.hpp"
#include "app/study/run_study.hpp"
#include "app/terminal.hpp"
#include "base/mapped.hpp"
#include "base/text.hpp"
#include "report/expected_time.hpp"
#include "report/tables/tables.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pb::app {

namespace {

namespace fs = std::filesystem;

struct PlanArguments {
    StudyArguments study;
    PlannedRanks ranks;
    std::optional<double> rank_tflops, latency_us;
    std::vector<std::string> earlier;
};

/// The results of the last run into the study's own folder, of one start or of launches, as far as they are there.
std::vector<fs::path> own_files(const fs::path& folder) {
    if (fs::exists(folder / report::kResultsName)) return {folder / report::kResultsName};
    if (!fs::is_directory(folder)) return {};
    std::vector<fs::path> files = report::launches_in(folder);
    std::erase_if(files, [](const fs::path& file) { return !fs::exists(file); });
    return files;
}

/// The files that --from names; without it the study's own.
std::vector<fs::path> earlier_files(const PlanArguments& arguments, const std::string& study) {
    if (arguments.earlier.empty()) return own_files(fs::path("results") / study);
    std::vector<fs::path> files;
    for (const auto& name : arguments.earlier)
        for (auto& file : report::launches_in(name)) files.push_back(std::move(file));
    return files;
}

/// What makes an estimate doubtful; empty: nothing.
std::string doubts_text(const report::ExpectedTime& expected) {
    std::string text;
    if (expected.num_invalid > 0)
        text += fmt::format(" {} of the earlier points {} not VALID.", expected.num_invalid,
                            expected.num_invalid == 1 ? "is" : "are");
    if (expected.num_unlike > 0)
        text +=
            fmt::format(" {} {} a network, precision, engine, device or number of ranks of which none was measured.",
                        counted(expected.num_unlike, "point"), expected.num_unlike == 1 ? "has" : "have");
    return text;
}

/// What an estimate lacks where the earlier points ran on another number of ranks; else empty.
std::string earlier_ranks_text(const report::ExpectedTime& expected, int ranks) {
    const auto [fewest, most] = expected.ranks;
    if (fewest == ranks && most == ranks) return "";
    return fmt::format(" They ran on {}; what {} would gain or lose is not in it.",
                       fewest == most ? counted(fewest, "rank") : fmt::format("{} to {} ranks", fewest, most),
                       counted(ranks, "rank"));
}

std::string time_text(const PlanArguments& arguments, const plan::Plan& plan) {
    const auto files = earlier_files(arguments, plan.study.name);
    const auto expected = report::expected_time(plan, mapped(files, report::load_results));
    if (files.empty())
        return "For times add --from: results of an earlier run, or --tflops: what one rank reaches, the figure "
               "`tflops` of an earlier result / its ranks.";
    const std::string from =
        files.front().string() + (files.size() > 1 ? fmt::format(" and {} more", files.size() - 1) : "");
    if (!expected) return fmt::format("No time: no point was measured in {}.", from);
    return fmt::format(
               "Time: about {} for {}, at the rate of {} of {}: {} for the passes, warm-up "
               "included, {} for reading, noise, preparing and writing. On top come the start of the ranks, searches "
               "(halo, batch: auto) and verification, of which results record no times.",
               report::clock_text(expected->seconds()), counted(expected->num_points, "point"),
               counted(expected->num_earlier, "point"), from, report::clock_text(expected->passes_s),
               report::clock_text(expected->around_s)) +
           doubts_text(*expected) + earlier_ranks_text(*expected, arguments.ranks.count);
}

/// What travels between ranks, with a line below it; empty when nothing does.
std::string exchange_text(const PlanArguments& arguments, const plan::Plan& plan) {
    std::optional<plan::Link> link;
    const auto bandwidth_gb_per_s = arguments.ranks.bandwidth_gb_per_s;
    if (arguments.latency_us && bandwidth_gb_per_s) link = {*arguments.latency_us * 1e-6, *bandwidth_gb_per_s * 1e9};
    const std::string text = report::exchange_text(plan, link, arguments.rank_tflops);
    return text.empty() ? "" : text + "\n";
}

ExitCode print_plan(const PlanArguments& arguments) {
    const plan::Plan plan = plan_locally(load_study(arguments.study), arguments.ranks, arguments.study.trusts_model);
    const std::string time = time_text(arguments, plan);  // before anything is printed: a file may not be readable
    const report::TextSize size{terminal_width(stdout)};
    print_text(stdout, "{}\n", report::plan_table(plan, arguments.rank_tflops, size));
    if (const std::string ways = report::context_table(plan, size); !ways.empty()) print_text(stdout, "{}\n", ways);
    print_text(stdout, "{}\n{}{}\n", report::prediction_text(plan), exchange_text(arguments, plan), time);
    return ExitCode::ok;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<PlanArguments>();
    CLI::App* command = app.add_subcommand("plan", "print a study's points, tiles and predicted needs; runs nothing");
    add_study(*command, arguments->study);
    add_number<int64_t>(*command, "--ranks", arguments->ranks.count, {1, config::kMaxCount}, "",
                        "ranks to plan for (default: 1)");
    add_number<int64_t>(*command, "--ranks-per-node", arguments->ranks.per_node, {1, config::kMaxCount}, "",
                        "ranks of each node (default: all on one)");
    add_number<double>(*command, "--gpu-memory", arguments->ranks.gpu_gib, {0.001, 1e6}, "GiB",
                       "plans for ranks with a GPU each, of so much memory, here or not");
    add_number<double>(*command, "--tflops", arguments->rank_tflops, {1e-9, 1e9}, "TFLOP/s",
                       "what one rank reaches: predicts the time of a repetition with it");
    CLI::Option* const latency =
        add_number<double>(*command, "--latency", arguments->latency_us, {1e-3, 1e6}, "us",
                           "of a message between ranks: predicts what exchanged rows cost, with --bandwidth");
    CLI::Option* const bandwidth = add_number<double>(*command, "--bandwidth", arguments->ranks.bandwidth_gb_per_s,
                                                      {1e-6, 1e6}, "GB/s", "between ranks, each way");
    latency->needs(bandwidth);
    bandwidth->needs(latency);
    command
        ->add_option("--from", arguments->earlier,
                     "earlier results, files or folders, that say how fast points are: estimates the time of the "
                     "study (default: results/<name>, if it is there)")
        ->allow_extra_args(false);
    set_action(*command, chosen, [arguments](const Arguments&) { return print_plan(*arguments); });
}

}  // namespace pb::app
