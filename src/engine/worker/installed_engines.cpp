#include "engine/worker/installed_engines.hpp"

#include "engine/worker/child_process.hpp"
#include "engine/worker/engine_places.hpp"

#include "patchbench/base/error.hpp"

namespace pb::engine::worker_engine {

namespace {

constexpr double kPatienceS = 30;

std::string versions_of(EngineKind engine) {
    std::vector<std::string> command = worker_command(engine, "");
    command.emplace_back("--versions");
    ChildProcess process(command, {});
    const std::string end = process.how_it_ended(kPatienceS);
    const std::string words = process.last_words();
    return end == "ended with exit code 0" ? words : std::string(name_of(engine)) + " (does not start: " + words + ")";
}

void append(std::string& list, const std::string& separator, const std::string& item) {
    list += (list.empty() ? "" : separator) + item;
}

}  // namespace

std::string installed_engines_text() {
    std::string installed, absent;
    for (const auto& [engine, name] : enum_names(EngineKind{})) {
        if (!has_own_process(engine) || engine == EngineKind::python) continue;
        try {
            append(installed, "; ", versions_of(engine));
        } catch (const Error&) {
            append(absent, ", ", std::string(name));
        }
    }
    if (!absent.empty()) append(installed, "; ", "not installed: " + absent + " (launch/engines.sh)");
    return "engines in a process of their own: " + installed;
}

}  // namespace pb::engine::worker_engine
