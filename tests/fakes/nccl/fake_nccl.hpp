// A libnccl for tests, in place of the real one: ranks are processes of an MPI job, memory is the host's, messages go
// by MPI. Calls that do not block stay "in progress" for a random number of looks, and only then is their work in the
// stream, as with NCCL. A rank can be told to meet trouble at a call. It shows what the comm layer does with NCCL's
// answers; what NCCL itself does on a network, or how fast, it cannot show.
#pragma once

#include <nccl.h>

#include <string>

namespace fake {

enum class Trouble {
    none,
    error,              // the call itself fails
    async_error,        // the call begins, and fails later: ncclCommGetAsyncError says so
    stays_in_progress,  // the call begins, and never ends
    never_runs,         // the operation is in its stream, and never ends there
    never_returns,      // the call hangs, as in a driver
    stops,              // the process is stopped in the call
    dies,               // the process is killed in the call
    wrong_values,       // a collective's result on this rank is another
};

struct Behaviour {
    int version = NCCL_VERSION_CODE;
    Trouble trouble = Trouble::none;
    std::string call;  // the entry point that meets it, "ncclAllReduce"
    int time = 1;      // the first such call from now on, or a later one
};

/// From now on, in this process.
void behave(const Behaviour& behaviour);

/// What became of this process's communicators.
struct Counts {
    int begun = 0;
    int destroyed = 0;  // in order: finalised before
    int aborted = 0;
};
[[nodiscard]] Counts counts();

}  // namespace fake
