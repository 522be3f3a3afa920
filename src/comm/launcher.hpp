// What the launcher says about the ranks that it started (read from environment variables); see also
// MpiSession::launcher_size.
#pragma once

#include <optional>
#include <string>

namespace pb::comm {

/// This rank's number; nullopt without a launcher, also in a shell of a job step, which may start ranks itself.
[[nodiscard]] std::optional<int> launcher_rank();

/// True for the first process of a launch or of a job step. Only that process prints messages before MPI starts, except
/// for errors that others have and it has not.
[[nodiscard]] bool is_first_process();

/// Call before an error is printed that came before MPI started. Returns immediately in the first process. Another one
/// waits for as long as a launcher takes to end it where the first one failed, too: one that is still there then is the
/// only one to say what is wrong.
void wait_for_first_process();

/// Names this process where it is not the first one: "rank 2@host: ".
[[nodiscard]] std::string place_before_mpi();

/// This rank's number on its node; nullopt without a launcher.
[[nodiscard]] std::optional<int> launcher_local_rank();

/// Call before MPI starts. Throws UsageError when srun started several tasks and gave them no way to find each other
/// (--mpi=none); Open MPI would otherwise print a page of text and exit with code 1.
void require_connected_tasks();

/// Whether MPI reports that it accepts device memory; nullopt where it cannot be asked. patchbench itself passes host
/// memory only.
[[nodiscard]] std::optional<bool> mpi_is_cuda_aware();

}  // namespace pb::comm
