#include "engine/worker/engine_places.hpp"

#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "engine/worker/child_process.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pb::engine::worker_engine {

namespace fs = std::filesystem;

namespace {

/// The folder with `engines/worker.py`: that of the program or one above it.
fs::path project_folder() {
    if (const auto folder = find_folder_with("engines/worker.py")) return *folder;
    throw Error("engine: no file 'engines/worker.py' beside or above '" + program_folder().string() +
                "': run patchbench from where it was built, or copy the folder 'engines' beside it");
}

/// Python of an engine of the user: as in the shell that started the program.
std::string users_python() {
    const std::string named = environment_value("PATCHBENCH_PYTHON");
    return named.empty() ? "python3" : named;
}

constexpr double kStartPatienceS = 30;

}  // namespace

fs::path environments_folder() {
    if (const std::string named = environment_value("PATCHBENCH_ENGINES"); !named.empty()) return named;
    return project_folder() / ".engines";
}

std::vector<std::string> worker_command(EngineKind engine, const std::string& file) {
    const std::string script = (project_folder() / "engines" / "worker.py").string();
    if (engine == EngineKind::python) {
        if (file.empty()) throw UsageError("engine = python: names no file; write python:my_engine.py");
        return {users_python(), "-B", script, "python:" + file};
    }
    const std::string name(name_of(engine));
    const fs::path python = environments_folder() / name / "bin" / "python";
    std::error_code unknown;
    if (!fs::exists(python, unknown))
        throw Error(
            fmt::format("engine = {0}: is not installed ({1} does not exist); install it with "
                        "launch/engines.sh --only {0}, or name the folder of its environment with "
                        "PATCHBENCH_ENGINES",
                        name, python.string()));
    return {python.string(), "-IB", script, name};
}

std::string versions_of(EngineKind engine) {
    std::vector<std::string> command = worker_command(engine, "");
    command.emplace_back("--versions");
    ChildProcess process(command, {});
    const std::string end = process.how_it_ended(kStartPatienceS);
    const std::string words = process.last_words();
    return end == "ended with exit code 0" ? words : std::string(name_of(engine)) + " (does not start: " + words + ")";
}

std::string installed_engines_text() {
    std::string installed;
    std::vector<std::string> absent;
    for (const auto& [engine, name] : enum_table<EngineKind>()) {
        if (!has_own_process(engine) || engine == EngineKind::python) continue;
        try {
            add_item(installed, versions_of(engine), "; ");
        } catch (const Error&) {
            absent.emplace_back(name);
        }
    }
    if (!absent.empty())
        add_item(installed, fmt::format("not installed: {} (launch/engines.sh)", fmt::join(absent, ", ")), "; ");
    return "engines in a process of their own: " + installed;
}

}  // namespace pb::engine::worker_engine
