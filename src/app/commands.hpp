// Declares the subcommands. Each adds itself to the command line and sets the action to run when it is chosen.
#pragma once

#include "patchbench/base/error.hpp"

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace pb::app {

/// The program's arguments in the form that MPI takes.
struct Arguments {
    int argc;
    char** argv;
};

/// What to run; the chosen subcommand sets it.
using Action = std::function<ExitCode(const Arguments&)>;

void add_run_command(CLI::App& app, Action& chosen);
void add_bench_command(CLI::App& app, Action& chosen);
void add_denoise_command(CLI::App& app, Action& chosen);
void add_plan_command(CLI::App& app, Action& chosen);
void add_report_command(CLI::App& app, Action& chosen);
void add_check_command(CLI::App& app, Action& chosen);
void add_compare_command(CLI::App& app, Action& chosen);
void add_networks_command(CLI::App& app, Action& chosen);
void add_settings_command(CLI::App& app, Action& chosen);
void add_tune_command(CLI::App& app, Action& chosen);

}  // namespace pb::app
