// The machine, software and settings of a study. Values only.
#pragma once

#include "plan/topology.hpp"
#include "record/fields.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pb::record {

template <class V, Like<plan::RankPlace> P>
void fields(V& v, P& place) {
    v("rank", count(place.rank));
    v("host", place.host);
    v("node", count(place.node));
    v("local_rank", count(place.local_rank));
    v("device", place.device.kind);
    v("device_index", count(place.device.index));
    v("device_name", or_null(place.device_name));
    v("device_uuid", or_null(place.device_uuid));
    v("pci_bus_id", or_null(place.pci_bus_id));
    v("affinity", or_null(place.affinity));
    v("num_cores", count(place.num_cores));
    v("threads", count(place.threads));
    v("processor_limit", or_null(place.processor_limit));
    v("memory_mib", mib(place.memory_bytes));
    v("free_host_bytes", unwritten(place.free_host_bytes));
    v("multiplies_bf16", unwritten(place.multiplies_bf16));
}

/// The sources and options of a build.
struct Build {
    std::string version, git_sha;
    bool git_dirty = false;
    std::string compiler, build_type;
};

/// The facts that another person needs to check a figure.
struct Environment : Build {
    std::string started_at;  // UTC, ISO 8601
    std::string command_line;
    struct Library {
        std::string name, header, loaded;
    };
    std::vector<Library> libraries;
    std::vector<std::pair<std::string, std::string>> variables;  // launcher and library variables from a white list
    std::string host_processor;
    plan::Topology topology;
};

template <class V, Like<Environment::Library> L>
void fields(V& v, L& library) {
    v("name", library.name);
    v("header", or_null(library.header));
    v("loaded", or_null(library.loaded));
}

template <class V, Like<Environment> E>
void fields(V& v, E& environment) {
    v("started_at", environment.started_at);
    v("command_line", environment.command_line);
    v("version", environment.version);
    v("git_sha", environment.git_sha);
    v("git_dirty", environment.git_dirty);
    v("compiler", environment.compiler);
    v("build_type", environment.build_type);
    v("libraries", environment.libraries);
    v("variables", environment.variables);
    v("host_processor", or_null(environment.host_processor));
    v("ranks", environment.topology.ranks);
}

}  // namespace pb::record
