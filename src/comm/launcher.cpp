#include "patchbench/comm/communicator.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>

namespace pb {
namespace {

/// Where launchers leave the number of ranks that they start; the innermost launcher first, since an mpirun inside a
/// Slurm job step starts its daemons by srun. Of Slurm only the step's count: SLURM_NTASKS is the allocation's, and is
/// there in a batch script that starts a program without srun, too.
constexpr std::array kSizeVariables{
    "OMPI_COMM_WORLD_SIZE",  // Open MPI's mpirun
    "PMI_SIZE",              // MPICH's and Intel's mpiexec
    "MV2_COMM_WORLD_SIZE",   // MVAPICH2
    "JSM_NAMESPACE_SIZE",    // jsrun
    "FLUX_JOB_SIZE",         // flux run
    "SLURM_STEP_NUM_TASKS",  // srun
};

std::optional<int> find_count(const char* variable) {
    const char* text = std::getenv(variable);
    if (text == nullptr) return std::nullopt;
    char* end = nullptr;
    errno = 0;
    const long count = std::strtol(text, &end, 10);
    const bool whole = end != text && *end == '\0' && errno == 0;
    if (!whole || count < 1 || count > (1L << 30)) return std::nullopt;
    return static_cast<int>(count);
}

}  // namespace

std::optional<int> MpiSession::launcher_size() {
    for (const char* variable : kSizeVariables)
        if (const auto count = find_count(variable)) return count;
    return std::nullopt;
}

}  // namespace pb
