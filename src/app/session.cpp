#include "app/session.hpp"

#include "app/terminal.hpp"
#include "base/text.hpp"
#include "comm/collective_step.hpp"
#include "comm/interruption.hpp"
#include "comm/launcher.hpp"
#include "config/settings.hpp"
#include "run/agreement.hpp"
#include "run/environment.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace pb::app {

namespace {

/// "rank 2@host: ", or nothing where there are no others.
std::string place_of(const comm::Communicator& world) {
    return world.size() == 1 ? "" : comm::name_of_rank(world) + ": ";
}

/// Prints an error that all ranks have once; then all ranks leave in the normal way.
ExitCode leave_together(const comm::Communicator& world, const Error& error) {
    if (world.is_root() && comm::is_first_process()) print_error(error.what());  // one of several copies prints
    world.barrier();
    return error.code();
}

}  // namespace

void print_nodes(const plan::Topology& topology) {
    std::map<int, std::pair<std::string, std::vector<int>>> nodes;
    for (const plan::RankPlace& place : topology.ranks) {
        auto& [host, ranks] = nodes[place.node];
        host = place.host;
        ranks.push_back(place.rank);
    }
    if (nodes.size() < 2) return;
    for (const auto& [node, there] : nodes)
        print_text(stderr, "patchbench: node {}: {}\n", there.first, ranks_text(there.second));
}

void print_version() {
    fmt::print("{}\n", run::version_text());
    for (const auto& library : run::library_versions()) fmt::print("  {}\n", run::library_line(library));
}

ExitCode with_ranks(const Arguments& arguments, const std::function<ExitCode(RankSession&)>& body) {
    int argc = arguments.argc;
    char** argv = arguments.argv;
    std::optional<comm::Watchdog> watchdog;
    comm::require_connected_tasks();
    comm::MpiSession session(argc, argv);
    const comm::InterruptionGuard guard;
    const comm::Communicator& world = session.world();
    int code = static_cast<int>(ExitCode::failed);
    try {
        watchdog.emplace(world, config::StudySettings{}.watchdog_s);
        run::together(world, [&] { run::check_launcher(world); });
        run::require_same_program(world, arguments.argc > 1 ? arguments.argv[1] : "");
        RankSession ranks{world, watchdog};
        return body(ranks);
    } catch (const run::AgreedError& error) {
        return leave_together(world, error);
    } catch (const run::PointFailed& error) {
        return leave_together(world, error);
    } catch (const Error& error) {
        const bool elsewhere = dynamic_cast<const comm::FailedElsewhere*>(&error) != nullptr;
        print_error((elsewhere ? "" : place_of(world)) + error.what());
        code = static_cast<int>(error.code());
    } catch (const std::exception& error) {
        print_error(place_of(world) + error.what());
    }
    comm::MpiSession::abort(code);
}

}  // namespace pb::app
