#include "run/launch.hpp"

#include "base/text.hpp"
#include "device/control_group.hpp"
#include "device/host_memory.hpp"
#include "device/processors.hpp"
#include "engine/engines.hpp"
#include "record/environment.hpp"
#include "record/row.hpp"
#include "run/agreement.hpp"

#include "patchbench/device/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

namespace pb::run {

namespace {

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "not set" : value;
}

/// Chooses the GPU of a rank.
device::DeviceInfo choose_cuda_device(const std::vector<device::DeviceInfo>& visible, int local_rank,
                                      config::SharingRule sharing) {
    const int count = static_cast<int>(visible.size());
    if (count == 1) return visible.front();
    if (local_rank < count) return visible[static_cast<size_t>(local_rank)];
    if (sharing == config::SharingRule::allow) return visible[static_cast<size_t>(local_rank % count)];
    throw UsageError(fmt::format(
        "local rank {} has no GPU of its own: {} visible (CUDA_VISIBLE_DEVICES {}); start one rank per GPU, or set "
        "devices.sharing: allow (figures are then INVALID)",
        local_rank, count, variable("CUDA_VISIBLE_DEVICES")));
}

device::DeviceInfo choose_device(const LaunchOptions& options, int local_rank) {
    if (options.device == config::DeviceChoice::cpu) return device::cpu_device();
    const auto visible = device::visible_cuda_devices();
    if (!visible.empty()) return choose_cuda_device(visible, local_rank, options.sharing);
    if (options.device == config::DeviceChoice::cuda)
        throw UsageError("device: cuda, but there is no CUDA device here (" + device::why_no_cuda_device() +
                         "); use device: auto or cpu");
    return device::cpu_device();
}

plan::RankPlace own_place(const comm::Communicator& world, const comm::Communicator& node,
                          const LaunchOptions& options) {
    const auto processors = device::affinity();
    plan::RankPlace place;
    place.rank = world.rank();
    place.host = comm::host_name();
    place.local_rank = node.rank();
    place.affinity = runs_text(processors, ",");
    place.num_cores = static_cast<int>(processors.size());
    place.free_host_bytes = device::available_host_memory_bytes().value_or(0);
    place.multiplies_bf16 = engine::native_multiplies_bf16();
    place.processor_limit = device::cgroup_processor_limit().value_or(0);
    place.threads = plan::fair_threads(place, node.all_gather(place.affinity));
    together(world, [&] {
        const device::DeviceInfo device = choose_device(options, place.local_rank);
        place.device = device.id;
        place.device_name = device.name;
        place.device_uuid = device.uuid;
        place.pci_bus_id = device.pci_bus_id;
        place.memory_bytes = device.memory_bytes;
    });
    return place;
}

/// Refuses two ranks on one physical GPU unless sharing is allowed: it is a launch error.
void check_sharing(const plan::Topology& topology, config::SharingRule sharing) {
    if (sharing == config::SharingRule::allow) return;
    const auto groups = plan::shared_devices(topology);
    if (groups.empty()) return;
    const auto& place = topology.place_of(groups.front().front());
    throw AgreedError(ranks_text(groups.front()) + " on " + place.host + " share one GPU (" + place.device_name +
                          ", bus " + place.pci_bus_id + ", " + place.device_uuid +
                          "); start one rank per GPU, or set devices.sharing: allow (figures are then INVALID)",
                      ExitCode::usage);
}

}  // namespace

void check_launcher(const comm::Communicator& world) {
    const auto announced = comm::MpiSession::launcher_size();
    if (announced && *announced != world.size())
        throw UsageError(fmt::format(
            "the launcher started {} ranks but MPI sees {}: these are independent copies; start patchbench with the "
            "mpirun of the Open MPI it was built with (or srun --mpi=pmix)",
            *announced, world.size()));
}

plan::Topology gather_topology(const comm::Communicator& world, const LaunchOptions& options) {
    const comm::Communicator node = world.node();
    const plan::RankPlace mine = own_place(world, node, options);
    plan::Topology topology;
    std::map<std::string, int> nodes;
    for (const auto& row : world.all_gather(record::pack(mine))) {
        auto place = record::unpack<plan::RankPlace>(row);
        place.node = nodes.emplace(place.host, static_cast<int>(nodes.size())).first->second;
        topology.ranks.push_back(std::move(place));
    }
    check_sharing(topology, options.sharing);
    return topology;
}

}  // namespace pb::run
