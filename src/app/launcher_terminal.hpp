// The terminal that shows what this process writes, also below a launcher that copies the output of its ranks.
#pragma once

namespace pb::app {

/// True where `stream` (a descriptor, 1 or 2) goes to a launcher of Open MPI: a pipe, or a terminal without a size that
/// mpirun made for it. A shell does not forward what its children write.
[[nodiscard]] bool is_forwarded(int stream);

/// Opens the terminal that shows `stream`: its own, or that of the launcher which forwards it. -1: there is none, or it
/// is another user's.
[[nodiscard]] int open_terminal_of(int stream);

}  // namespace pb::app
