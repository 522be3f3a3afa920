// patchbench plan STUDY.yaml: shows what `run` would do, without a GPU and without mpirun.
#include "app/commands.hpp"
#include "app/load_study.hpp"
#include "app/options.hpp"
#include "report/report.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>

namespace pb::app {

namespace {

struct PlanArguments {
    StudyArguments study;
    int ranks = 1;
    std::optional<double> rank_tflops;
};

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<PlanArguments>();
    CLI::App* command = app.add_subcommand("plan", "print a study's points, tiles and predicted needs; runs nothing");
    add_study(*command, arguments->study);
    add_number<int64_t>(*command, "--ranks", arguments->ranks, {1, config::kMaxCount}, "", "ranks to plan for");
    add_number<double>(*command, "--tflops", arguments->rank_tflops, {1e-9, 1e9}, "TFLOP/s",
                       "what one rank reaches: predicts times with it");
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments&) {
            const plan::Plan plan = plan_locally(load_study(arguments->study), arguments->ranks);
            fmt::print("{}\n{}", report::plan_table(plan, arguments->rank_tflops), report::prediction_text(plan));
            if (!arguments->rank_tflops)
                fmt::print(
                    "\nFor times add --tflops: what one rank reaches, the figure `tflops` of an earlier result / its "
                    "ranks.\n");
            return ExitCode::ok;
        };
    });
}

}  // namespace pb::app
