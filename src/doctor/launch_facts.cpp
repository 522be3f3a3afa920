#include "doctor/launch_facts.hpp"

#include "comm/launcher.hpp"
#include "device/host_memory.hpp"
#include "device/processor_layout.hpp"
#include "run/environment.hpp"

#include "patchbench/device/device.hpp"

#include <cstdlib>
#include <sstream>

namespace pb::doctor {

namespace {

constexpr const char* kNoDriver =
    "no NVIDIA driver";  // why_no_cuda_device() on a machine without GPUs: not worth reporting

RankFacts own_facts(const plan::RankPlace& place, bool wants_gpu) {
    RankFacts facts;
    facts.announced_local_rank = comm::launcher_local_rank();
    const device::ProcessorLayout layout;
    const auto processors = device::affinity();
    facts.cores = layout.cores_of(processors);
    facts.memory_nodes = layout.memory_nodes_of(processors);
    facts.node_cores = static_cast<int>(layout.cores_of(layout.processors()).size());
    if (place.device.is_cuda()) facts.device_memory_node = layout.memory_node_of_device(place.pci_bus_id);
    if (wants_gpu) {
        for (const auto& device : device::visible_cuda_devices()) facts.visible_devices.push_back(device.uuid);
        if (const auto why = device::why_no_cuda_device(); why != kNoDriver) facts.why_no_device = why;
    }
    for (const auto& name : launch_variables())
        if (const char* value = std::getenv(name.c_str())) facts.variables[name] = value;
    facts.libraries.push_back({"patchbench", "", run::version_text()});
    for (const auto& [name, header, loaded] : run::library_versions())
        facts.libraries.push_back({name, header, loaded});
    return facts;
}

// Facts are sent as text with one line each, "<what> <value>"; a list has one line per item.
void write_lines(std::ostream& text, const char* what, const auto& values) {
    for (const auto& value : values) text << what << ' ' << value << '\n';
}

std::string one_line(std::string text) {
    for (char& c : text)
        if (c == '\n' || c == '\t') c = ' ';
    return text;
}

std::string pack_facts(const RankFacts& facts) {
    std::ostringstream text;
    if (facts.announced_local_rank) text << "local_rank " << *facts.announced_local_rank << '\n';
    write_lines(text, "core", facts.cores);
    write_lines(text, "memory_node", facts.memory_nodes);
    if (facts.device_memory_node) text << "device_memory_node " << *facts.device_memory_node << '\n';
    text << "node_cores " << facts.node_cores << '\n';
    write_lines(text, "visible_device", facts.visible_devices);
    text << "why_no_device " << one_line(facts.why_no_device) << '\n';
    for (const auto& [name, value] : facts.variables) text << "variable " << name << '\t' << one_line(value) << '\n';
    for (const auto& [name, header, loaded] : facts.libraries)
        text << "library " << name << '\t' << one_line(header) << '\t' << one_line(loaded) << '\n';
    return text.str();
}

std::vector<std::string> tab_separated(const std::string& value) {
    std::vector<std::string> all;
    std::istringstream text(value);
    for (std::string column; std::getline(text, column, '\t');) all.push_back(column);
    all.resize(3);
    return all;
}

void unpack_line(const std::string& what, const std::string& value, RankFacts& facts) {
    if (what == "local_rank") facts.announced_local_rank = std::stoi(value);
    if (what == "core") facts.cores.push_back(std::stoi(value));
    if (what == "memory_node") facts.memory_nodes.push_back(std::stoi(value));
    if (what == "device_memory_node") facts.device_memory_node = std::stoi(value);
    if (what == "node_cores") facts.node_cores = std::stoi(value);
    if (what == "visible_device") facts.visible_devices.push_back(value);
    if (what == "why_no_device") facts.why_no_device = value;
    const auto parts = tab_separated(value);
    if (what == "variable") facts.variables[parts[0]] = parts[1];
    if (what == "library") facts.libraries.push_back({parts[0], parts[1], parts[2]});
}

RankFacts unpack_facts(const std::string& packed) {
    RankFacts facts;
    std::istringstream text(packed);
    for (std::string line; std::getline(text, line);) {
        const size_t space = line.find(' ');
        unpack_line(line.substr(0, space), line.substr(space + 1), facts);
    }
    return facts;
}

}  // namespace

std::vector<RankFacts> gather_launch_facts(const comm::Communicator& world, const plan::Topology& topology,
                                           bool wants_gpu) {
    const plan::RankPlace& mine = topology.ranks[static_cast<size_t>(world.rank())];
    std::vector<RankFacts> all;
    for (const auto& packed : world.gather(pack_facts(own_facts(mine, wants_gpu)))) {
        RankFacts facts = unpack_facts(packed);
        facts.place = topology.ranks[all.size()];
        all.push_back(std::move(facts));
    }
    return all;
}

}  // namespace pb::doctor
