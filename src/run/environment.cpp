#include "run/environment.hpp"

#include "base/mapped.hpp"
#include "base/text.hpp"
#include "comm/metric_reduction.hpp"
#include "device/host_memory.hpp"
#include "device/processors.hpp"
#include "engine/engines.hpp"
#include "record/row.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"

#include "patchbench/device/device.hpp"
#include "patchbench/engine/denoiser.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>

namespace pb::run {

namespace {

/// The variables that are set on one rank, by name.
using RankVariables = std::map<std::string, std::string>;

/// Variables that affect the measurements. None of them is private.
// clang-format off
constexpr const char* kVariables[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OMP_PROC_BIND",
    "PYTORCH_CUDA_ALLOC_CONF", "SLURM_STEP_NUM_TASKS", "UCX_NET_DEVICES",
    "PYTORCH_ALLOC_CONF", "NCCL_DEBUG", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE", "NCCL_SOCKET_IFNAME",
    "OMPI_COMM_WORLD_SIZE", "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_JOB_NUM_NODES", "SLURM_CPU_BIND", "PBS_JOBID",
    "LSB_JOBID", "ONEDNN_MAX_CPU_ISA", "TORCH_CUDNN_V8_API_DISABLED", "NVIDIA_TF32_OVERRIDE", "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES", "OMP_PLACES", "OMP_SCHEDULE",
    "OMP_DYNAMIC", "OMP_WAIT_POLICY", "OMP_THREAD_LIMIT", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "KMP_BLOCKTIME",
    "MKL_NUM_THREADS", "MKL_DYNAMIC", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_NUM_THREADS",
    "OPENBLAS_CORETYPE", "DNNL_MAX_CPU_ISA", "DNNL_CPU_ISA_HINTS", "ONEDNN_CPU_ISA_HINTS",
    "DNNL_DEFAULT_FPMATH_MODE", "ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_PRIMITIVE_CACHE_CAPACITY",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY", "ATEN_CPU_CAPABILITY", "TF_ENABLE_ONEDNN_OPTS", "TF_NUM_INTRAOP_THREADS",
    "XLA_FLAGS", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUBLAS_WORKSPACE_CONFIG", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "NCCL_ALGO", "NCCL_PROTO", "NCCL_NET",
    "NCCL_SHM_DISABLE", "NCCL_P2P_LEVEL", "NCCL_BUFFSIZE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"};
// clang-format on

/// Those that differ between ranks of one launch by intention: devices, cores, and the names of a node's networks.
constexpr std::string_view kOwnOfRanks[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "OMP_PLACES",
                                            "GOMP_CPU_AFFINITY",    "KMP_AFFINITY",           "SLURM_CPU_BIND",
                                            "NCCL_SOCKET_IFNAME",   "UCX_NET_DEVICES"};

RankVariables own_variables() {
    RankVariables own;
    for (const char* name : kVariables)
        if (const char* value = std::getenv(name)) own[name] = value;
    return own;
}

std::string value_of(const std::string& name, const RankVariables& variables) {
    const auto found = variables.find(name);
    return found == variables.end() ? "not set" : found->second;
}

using Libraries = std::vector<record::Environment::Library>;

/// The first line of a text, and the rest.
std::pair<std::string, std::string> lines_of(const std::string& text) {
    const size_t end = std::min(text.find('\n'), text.size());
    return {text.substr(0, end), text.substr(std::min(end + 1, text.size()))};
}

/// One line for each library.
std::vector<std::string> software_lines(const Libraries& libraries) {
    return mapped(libraries, [](const auto& library) { return library.name + " " + library.loaded; });
}

void add(const std::vector<device::LibraryVersion>& versions, Libraries& libraries) {
    for (const auto& [library, header, loaded] : versions) libraries.push_back({library, header, loaded});
}

Libraries linked_versions() {
    Libraries libraries;
    add(device::cuda_versions(), libraries);
    libraries.push_back({"nccl", comm::nccl_header_version(), comm::nccl_loaded_version()});
    libraries.push_back({"mpi", comm::mpi_header_version(), comm::mpi_library_version()});
    return libraries;
}

std::string unequal_software(const std::string& mine, const std::string& roots) {
    std::string text = "unequal software: ";
    text.append(mine).append(" here, ").append(roots);
    return text +
           " on rank 0; install the same patchbench and the same libraries on every node, best in one shared folder";
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
        local_rank, count, value_of("CUDA_VISIBLE_DEVICES", own_variables())));
}

device::DeviceInfo choose_device(config::DeviceChoice choice, int local_rank, config::SharingRule sharing) {
    if (choice == config::DeviceChoice::cpu) return device::cpu_device();
    const auto visible = device::visible_cuda_devices();
    if (!visible.empty()) return choose_cuda_device(visible, local_rank, sharing);
    if (choice == config::DeviceChoice::cuda)
        throw UsageError("device: cuda, but there is no CUDA device here (" + device::why_no_cuda_device() +
                         "); use device: auto or cpu");
    return device::cpu_device();
}

plan::RankPlace own_place(const comm::Communicator& world, const comm::Communicator& node, config::DeviceChoice choice,
                          config::SharingRule sharing) {
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
        const device::DeviceInfo device = choose_device(choice, place.local_rank, sharing);
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

Libraries library_versions() {
    Libraries libraries;
    add(engine::engine_versions(), libraries);
    for (auto& linked : linked_versions()) libraries.push_back(std::move(linked));
    return libraries;
}

std::string library_line(const record::Environment::Library& library) {
    const auto& [name, header, loaded] = library;
    if (header.empty() && loaded.empty()) return fmt::format("{:<16} none", name);
    return fmt::format("{:<16} header {:<10} loaded {}", name, header.empty() ? "-" : header,
                       loaded.empty() ? "-" : loaded);
}

std::vector<std::pair<std::string, std::string>> gather_variables(const comm::Communicator& world) {
    const RankVariables mine = own_variables();
    const auto rows = world.gather(record::pack(mine));
    if (!world.is_root()) return {};
    std::map<std::pair<std::string, std::string>, std::vector<int>> others;
    for (int rank = 1; rank < std::ssize(rows); ++rank) {
        const std::vector<double>& row = rows[static_cast<size_t>(rank)];
        if (row == rows.front()) continue;
        const auto theirs = record::unpack<RankVariables>(row);
        for (const std::string name : kVariables) {
            const std::string value = value_of(name, theirs);
            if (value != value_of(name, mine) && std::ranges::count(kOwnOfRanks, name) == 0)
                others[{name, value}].push_back(rank);
        }
    }
    std::vector<std::pair<std::string, std::string>> all(mine.begin(), mine.end());
    for (const auto& [variable, ranks] : others)
        all.emplace_back(fmt::format("{} of {}", variable.first, ranks_text(ranks)), variable.second);
    return all;
}

record::Environment describe_environment(const plan::Topology& topology,
                                         std::vector<std::pair<std::string, std::string>> variables, int argc,
                                         const char* const* argv) {
    record::Environment environment{build_info()};
    environment.started_at = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    environment.command_line = fmt::format("{}", fmt::join(argv, argv + argc, " "));
    environment.libraries = library_versions();
    environment.variables = std::move(variables);
    const device::DeviceInfo processor = device::cpu_device();
    environment.host_processor = processor.name + " (" + processor.capability + ")";
    environment.topology = topology;
    return environment;
}

std::string version_text() {
    const record::Build& build = build_info();
    return "patchbench " + build.version + " (git " + build.git_sha + (build.git_dirty ? ", modified" : "") + ", " +
           build.compiler + ", " + build.build_type + ")";
}

void require_same_program(const comm::Communicator& world, const std::string& subcommand) {
    std::string mine;
    together(world, [&] { mine = version_text() + "\n" + without_controls(subcommand); });
    const std::string roots = world.broadcast(mine);
    together(world, [&] {
        const auto [my_version, my_subcommand] = lines_of(mine);
        const auto [version, other_subcommand] = lines_of(roots);
        if (my_version != version) throw UsageError(unequal_software(my_version, version));
        if (my_subcommand != other_subcommand)
            throw UsageError(
                fmt::format("was started as `patchbench {}`, but rank 0 as `patchbench {}`: start all ranks with one "
                            "command line",
                            my_subcommand, other_subcommand));
    });
}

void require_same_software(const comm::Communicator& world, Software which) {
    std::vector<std::string> mine;
    together(world,
             [&] { mine = software_lines(which == Software::with_torch ? library_versions() : linked_versions()); });
    const std::vector<std::string> roots = from_root(world, mine);
    together(world, [&] {
        const auto [line, theirs] = std::ranges::mismatch(mine, roots);
        if (line != mine.end()) throw UsageError(unequal_software(*line, theirs == roots.end() ? "" : *theirs));
    });
}

void check_launcher(const comm::Communicator& world) {
    const auto announced = comm::MpiSession::launcher_size();
    if (announced && *announced != world.size())
        throw UsageError(fmt::format(
            "the launcher started {} ranks but MPI sees {}: these are independent copies; start patchbench with the "
            "mpirun of the Open MPI it was built with (or srun --mpi=pmix)",
            *announced, world.size()));
}

plan::Topology gather_topology(const comm::Communicator& world, config::DeviceChoice device,
                               config::SharingRule sharing) {
    const comm::Communicator node = world.node();
    const plan::RankPlace mine = own_place(world, node, device, sharing);
    plan::Topology topology;
    std::map<std::string, int> nodes;
    for (const auto& row : world.all_gather(record::pack(mine))) {
        auto place = record::unpack<plan::RankPlace>(row);
        place.node = nodes.emplace(place.host, static_cast<int>(nodes.size())).first->second;
        topology.ranks.push_back(std::move(place));
    }
    check_sharing(topology, sharing);
    return topology;
}

}  // namespace pb::run
