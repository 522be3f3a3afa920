// What the launcher says of the ranks that it started, beside MpiSession::launcher_size: environment variables only.
#pragma once

#include <optional>

namespace pb {

/// This rank's number on its node; none without a launcher.
[[nodiscard]] std::optional<int> launcher_local_rank();

/// Before MPI starts: throws UsageError when srun started several tasks and gave them no way to find each other
/// (--mpi=none), which Open MPI would answer with a page of text and exit code 1.
void require_connected_tasks();

/// Whether MPI says that it takes device memory; none where it cannot be asked. patchbench never hands it any.
[[nodiscard]] std::optional<bool> mpi_is_cuda_aware();

}  // namespace pb
