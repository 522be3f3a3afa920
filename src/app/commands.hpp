// The subcommands: each adds itself to the command line and says what to do when it is chosen.
#pragma once

#include "patchbench/base/error.hpp"

#include <functional>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace pb {

/// The program's arguments, as MPI wants them.
struct Arguments {
    int argc;
    char** argv;
};

/// Set by the subcommand that the user chose.
using Action = std::function<ExitCode(const Arguments&)>;

void add_run_command(CLI::App& app, Action& chosen);
void add_denoise_command(CLI::App& app, Action& chosen);
void add_plan_command(CLI::App& app, Action& chosen);
void add_report_command(CLI::App& app, Action& chosen);
void add_check_command(CLI::App& app, Action& chosen);
void add_compare_command(CLI::App& app, Action& chosen);
void add_networks_command(CLI::App& app, Action& chosen);

}  // namespace pb
