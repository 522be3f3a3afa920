// A node whose ranks are threads of one process: what the watchdog needs of Communicator, NodeMemory and MpiSession,
// without MPI, so that the thread sanitizer sees both sides of the memory that ranks share.
#pragma once

#include <functional>

namespace pb::test {

/// Runs `body` on `num_ranks` threads; in each, Communicator::world() is that of its rank.
void run_ranks(int num_ranks, const std::function<void(int rank)>& body);
/// From now on MpiSession::abort is what is waited for: the program ends well. Before, it is a failure.
void expect_abort();

}  // namespace pb::test
