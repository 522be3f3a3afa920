// patchbench run --launches N: measures the study with N starts of the program, one after the other, so that `compare`
// knows how launches differ. The launcher that the user names starts all processes again each time. This process does
// not take part and does not start MPI.
#pragma once

#include "app/commands.hpp"

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace pb::app {

struct StudyLaunches {
    int64_t count = 1;
    std::string launcher;                    // "mpirun -n 4"; empty: only the program, one rank
    std::filesystem::path folder;            // holds a folder for each launch
    std::set<std::filesystem::path> inputs;  // the study and what it reads
    bool resumes = false;                    // launches go on with the results in their folders
    bool is_verbose = false;  // a launch prints all; else a line each, and what it printed is in its output.txt
};

/// Runs the launches and prints their combined result. Unless they resume, moves the launches of an earlier run aside
/// first. A launch that leaves no results of its own is a failed one. A launch with wrong arguments (exit code 2) or a
/// signal ends the series. Returns the most serious exit code. Throws UsageError where the folder cannot be used.
[[nodiscard]] ExitCode run_launches(const StudyLaunches& options, const Arguments& arguments);

}  // namespace pb::app
