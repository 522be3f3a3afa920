// patchbench plan STUDY.yaml: what would run, without GPU and mpirun.
#include "app/commands.hpp"
#include "app/load_study.hpp"
#include "app/number_in_range.hpp"
#include "config/settings.hpp"
#include "report/report.hpp"
#include "run/pixels/image_source.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <optional>

namespace pb {

namespace {

struct PlanArguments {
    std::string study;
    std::vector<std::string> overrides;
    int ranks = 1;
    std::optional<double> rank_tflops;
};

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
    auto arguments = std::make_shared<PlanArguments>();
    CLI::App* command = app.add_subcommand("plan", "print a study's points, tiles and predicted needs; runs nothing");
    command->add_option("study", arguments->study, "study file (YAML)")->required();
    add_overrides(*command, arguments->overrides);
    command->add_option("--ranks", arguments->ranks, "ranks to plan for")->check(number_in_range(1, kMaxCount));
    command->add_option("--tflops", arguments->rank_tflops, "TFLOP/s that one rank reaches: predicts times with it")
        ->check(number_in_range(1e-9, 1e9));
    command->callback([&chosen, arguments] {
        chosen = [arguments](const Arguments&) {
            const Config config = load_study(arguments->study, arguments->overrides);
            const Plan plan = plan_locally(config, arguments->ranks);
            fmt::print("{}\n{}", plan_table(plan, arguments->rank_tflops), prediction_text(plan));
            if (!arguments->rank_tflops)
                fmt::print(
                    "\nFor times add --tflops: what one rank reaches, the figure `tflops` of an earlier result / its "
                    "ranks.\n");
            return ExitCode::ok;
        };
    });
}

}  // namespace pb
