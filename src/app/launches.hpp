// patchbench run --launches N: the study measured by N starts of the program, one after the other. `compare` then knows
// how launches differ. Every start is a new one of all processes, by the launcher that the user names: this process is
// none of them and starts no MPI.
#pragma once

#include "app/commands.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pb {

struct StudyLaunches {
    int64_t count = 1;
    std::string launcher;          // "mpirun -n 4"; empty: the program alone, one rank
    std::filesystem::path folder;  // of all; each launch has a folder of its own in it
};

/// Throws UsageError when ranks were started already, and when the folder holds other results.
void check_can_launch(const StudyLaunches& options);

/// The command of one launch: the launcher, this program, and its own arguments without those that are about launches,
/// with the launch's folder.
[[nodiscard]] std::vector<std::string> launch_command(const StudyLaunches& options, int64_t launch,
                                                      const std::vector<std::string>& arguments,
                                                      const std::string& program);

/// Runs them and prints what they come to together. A launch that was wrongly called (exit code 2), or a signal, is the
/// last. The exit code is the gravest.
[[nodiscard]] ExitCode run_launches(const StudyLaunches& options, const Arguments& arguments);

}  // namespace pb
