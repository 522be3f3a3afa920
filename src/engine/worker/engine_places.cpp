#include "engine/worker/engine_places.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace pb::engine::worker_engine {

namespace fs = std::filesystem;

namespace {

/// The folder with `engines/worker.py`: that of the program or one above it.
fs::path project_folder() {
    std::error_code unknown;  // set where /proc does not exist
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown).parent_path();
    for (fs::path folder = program; folder.has_relative_path(); folder = folder.parent_path())
        if (fs::exists(folder / "engines" / "worker.py", unknown)) return folder;
    throw Error("engine: no file 'engines/worker.py' beside or above '" + program.string() +
                "': run patchbench from where it was built, or copy the folder 'engines' beside it");
}

/// Python of an engine of the user: as in the shell that started the program.
std::string users_python() {
    const char* const named = std::getenv("PATCHBENCH_PYTHON");
    return named != nullptr ? named : "python3";
}

}  // namespace

fs::path environments_folder() {
    if (const char* const named = std::getenv("PATCHBENCH_ENGINES")) return named;
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

}  // namespace pb::engine::worker_engine
