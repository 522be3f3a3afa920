// patchbench: the table of contents. Each subcommand lives in a file of its own.
#include "app/commands.hpp"
#include "app/session.hpp"
#include "app/standard_streams.hpp"

#include "patchbench/base/user_paths.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace pb {
namespace {

/// CLI11's own exit codes become the program's: 0 for --help, 2 for what it does not understand.
int explain(const CLI::App& app, const CLI::ParseError& error) {
    if (!speaks_before_mpi()) return error.get_exit_code() == 0 ? 0 : static_cast<int>(ExitCode::usage);
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
}

int run_program(const Arguments& arguments) {
    CLI::App app("Measures, and does, patch-based image denoising on many GPUs.", "patchbench");
    Action chosen;
    bool version = false;
    app.add_flag("--version", version, "versions of patchbench and of every library, header and loaded");
    add_run_command(app, chosen);
    add_denoise_command(app, chosen);
    add_plan_command(app, chosen);
    add_report_command(app, chosen);
    add_check_command(app, chosen);
    add_compare_command(app, chosen);
    add_networks_command(app, chosen);
    try {
        app.parse(arguments.argc, arguments.argv);
    } catch (const CLI::ParseError& error) {
        return explain(app, error);
    }
    if (version) {
        print_version();
        return static_cast<int>(flush_standard_output() ? ExitCode::ok : ExitCode::failed);
    }
    if (!chosen) {
        fmt::print(stderr, "{}", app.help());
        return static_cast<int>(ExitCode::usage);
    }
    const ExitCode code = chosen(arguments);
    return static_cast<int>(code == ExitCode::ok && !flush_standard_output() ? ExitCode::failed : code);
}

}  // namespace
}  // namespace pb

int main(int argc, char** argv) {
    pb::prepare_standard_streams();
    try {
        return pb::run_program({argc, argv});
    } catch (const pb::Error& error) {  // before MPI started: every process sees the same
        if (pb::speaks_before_mpi()) pb::print_error(error.what());
        return static_cast<int>(error.code());
    } catch (const std::filesystem::filesystem_error& error) {
        if (pb::speaks_before_mpi()) pb::print_error(pb::describe(error));
        return static_cast<int>(pb::ExitCode::usage);
    } catch (const std::exception& error) {
        if (pb::speaks_before_mpi()) pb::print_error(error.what());
        return static_cast<int>(pb::ExitCode::failed);
    }
}
