#include "comm/launcher.hpp"

#include "base/text.hpp"
#include "comm/communicator.hpp"
#include "comm/mpi_calls.hpp"

#include "patchbench/base/error.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string_view>
#include <thread>

namespace pb::comm {

namespace {

/// Variables in which launchers store the number of ranks that they start. The innermost launcher comes first, since an
/// mpirun inside a Slurm job step starts its daemons by srun. SLURM_NTASKS is not among them: it counts the tasks of
/// the allocation and is also set in a batch script that starts a program without srun.
constexpr std::array kSizeVariables{
    "OMPI_COMM_WORLD_SIZE",  // Open MPI's mpirun
    "PMI_SIZE",              // MPICH's and Intel's mpiexec
    "MV2_COMM_WORLD_SIZE",   // MVAPICH2
    "JSM_NAMESPACE_SIZE",    // jsrun
    "FLUX_JOB_SIZE",         // flux run
    "SLURM_STEP_NUM_TASKS",  // srun
};

/// The number of this rank, in the same order, and as any launcher that speaks PMI says it.
constexpr std::array kRankVariables{
    "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "JSM_NAMESPACE_RANK", "FLUX_TASK_RANK",
    "PALS_RANKID",          "PMIX_RANK",           "PMI_RANK",
};

/// The number of this rank on its node, in the same order.
constexpr std::array kLocalRankVariables{
    "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",    "MV2_COMM_WORLD_LOCAL_RANK",
    "JSM_NAMESPACE_LOCAL_RANK",   "FLUX_TASK_LOCAL_ID", "PALS_LOCAL_RANKID",
};

std::optional<int> find_number(const char* variable, int least) {
    const char* text = std::getenv(variable);
    int number = 0;
    if (text == nullptr || !read_number(text, number) || number < least || number > (1 << 30)) return std::nullopt;
    return number;
}

template <size_t N>
std::optional<int> find_first(const std::array<const char*, N>& variables, int least) {
    for (const char* variable : variables)
        if (const auto number = find_number(variable, least)) return number;
    return std::nullopt;
}

/// The number of this process in its launch or job step; 0 without one.
int process_number() {
    const auto rank = launcher_rank();
    return (rank ? rank : find_number("SLURM_PROCID", 0)).value_or(0);
}

std::optional<int> find_count(const char* variable) { return find_number(variable, 1); }

/// Every process manager sets at least one of these variables: PMIX_RANK, PMI_FD, PALS_RANKID, ...
bool has_process_manager() {
    const auto is_one = [](std::string_view entry) {
        const auto starts = [&](std::string_view prefix) { return entry.starts_with(prefix); };
        return starts("PMI") || starts("PALS_") || starts("OMPI_COMM_WORLD_") || starts("FLUX_");
    };
    char** end = environ;
    while (*end != nullptr) ++end;
    return std::any_of(environ, end, is_one);
}

/// Without a launcher, Open MPI 4 starts a daemon (orted), which was seen to outlive a killed program and to take all
/// memory of the host. A program that starts no others does not need it.
void start_alone_without_daemon() {
    if (MpiSession::launcher_size()) return;
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    // It shares nothing either: without the daemon all such programs have one folder below /tmp, which one that ends
    // was seen to take from one that starts.
    setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

/// A rank that waits gives its core to others. Open MPI does so by itself only where it knows of more ranks than cores,
/// and not of other programs or of a share of a machine: a stack of small pages took three times as long there.
void yield_while_waiting() { setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); }

/// Waits here because a watchdog's MPI_Abort still ends the job; inside MPI_Finalize, mpirun of Open MPI 4.1.4 was seen
/// to hang after MPI_Abort. An error here can be ignored: MPI_Finalize reports it again.
void wait_for_all(const Communicator& world) noexcept {
    try {
        world.sleeping_barrier();
    } catch (const std::exception& error) {
        std::cerr << "patchbench: before MPI_Finalize: " << error.what() << std::endl;
    }
}

}  // namespace

std::optional<int> MpiSession::launcher_size() { return find_first(kSizeVariables, 1); }

std::optional<int> launcher_rank() { return find_first(kRankVariables, 0); }

bool is_first_process() { return process_number() == 0; }

void wait_for_first_process() {
    constexpr std::chrono::seconds kTimeToEnd{2};
    if (!is_first_process()) std::this_thread::sleep_for(kTimeToEnd);
}

std::string place_before_mpi() {
    return is_first_process() ? "" : fmt::format("rank {}@{}: ", process_number(), host_name());
}

std::optional<int> launcher_local_rank() {
    if (const auto rank = find_first(kLocalRankVariables, 0)) return rank;
    // A batch script also has SLURM_LOCALID=0: the variable is valid in a job step only.
    if (std::getenv("SLURM_STEP_NUM_TASKS") != nullptr) return find_number("SLURM_LOCALID", 0);
    return std::nullopt;
}

void require_connected_tasks() {
    const auto tasks = find_count("SLURM_STEP_NUM_TASKS");
    if (!tasks || *tasks == 1 || has_process_manager()) return;
    throw UsageError(fmt::format(
        "srun started {} tasks that cannot find each other, independent copies: start them with srun --mpi=pmix (`srun "
        "--mpi=list` shows what this Slurm has), or with mpirun inside the job",
        *tasks));
}

std::optional<bool> mpi_is_cuda_aware() {
    // An extension of Open MPI and MPICH, looked up at run time: other MPIs lack it.
    using Query = int (*)();
    const auto query = reinterpret_cast<Query>(dlsym(RTLD_DEFAULT, "MPIX_Query_cuda_support"));
    if (query == nullptr) return std::nullopt;
    return query() == 1;
}

MpiSession::MpiSession(int& argc, char**& argv) : exceptions_at_start_(std::uncaught_exceptions()) {
    int initialised = 0;
    MPI_Initialized(&initialised);
    require(initialised == 0, "MPI is running already: a program holds one MpiSession, and only once");
    start_alone_without_daemon();
    yield_while_waiting();
    // The watchdog calls MPI_Abort from its own thread, which was seen to work with a lower thread level, too.
    int provided = 0;
    mpi::check(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    mpi::check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    world_ = Communicator::world();
}

MpiSession::~MpiSession() {
    // MPI_Finalize waits for all ranks. After an error they may never come; main calls abort().
    if (std::uncaught_exceptions() > exceptions_at_start_) return;
    wait_for_all(world_);
    world_ = Communicator();
    MPI_Finalize();
}

void MpiSession::abort(int code) {
    if (mpi::is_running()) MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
}

std::string mpi_header_version() { return fmt::format("{}.{}", MPI_VERSION, MPI_SUBVERSION); }

std::string mpi_library_version() {
    std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
    int length = 0;
    mpi::check(MPI_Get_library_version(text.data(), &length));
    text.resize(static_cast<size_t>(length));
    return text.substr(0, text.find_first_of("\n\0", 0, 2));
}

}  // namespace pb::comm
