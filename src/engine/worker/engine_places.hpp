// Where the engines of other frameworks are: `engines/worker.py` and a Python environment for each.
#pragma once

#include "patchbench/base/choices.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace pb::engine::worker_engine {

/// The start of a command line that runs worker.py for an engine: Python, its options, the script, the engine's name.
/// `file` is the adapter of the engine `python`. Throws Error with the command that installs an engine which is absent.
[[nodiscard]] std::vector<std::string> worker_command(EngineKind engine, const std::string& file);

/// Folder with an environment for each engine: $PATCHBENCH_ENGINES, or `.engines` beside the folder `engines`.
[[nodiscard]] std::filesystem::path environments_folder();

/// "onnxruntime 1.32.0, Python 3.11.7", in about 0.1 s, without importing the framework; or that it does not start, and
/// why. Throws as worker_command.
[[nodiscard]] std::string versions_of(EngineKind engine);

/// What `check` says: "engines in a process of their own: onnxruntime 1.32.0, Python 3.11.7; not installed: jax
/// (launch/engines.sh)". Asks each installed environment for its versions.
[[nodiscard]] std::string installed_engines_text();

}  // namespace pb::engine::worker_engine
