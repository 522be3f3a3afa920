// A step that all ranks take together: when it fails on one rank, it fails on all of them. And a barrier with a
// time-out, which names the rank that hangs.
#pragma once

#include "comm/communicator.hpp"

#include "patchbench/base/error.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pb::comm {

/// Marks an error on the ranks where the step itself succeeded. Its text names the ranks that failed, by their numbers
/// in the communicator of the step, so no rank is put before it. The ranks that failed throw their own error; whoever
/// prints that adds the rank.
struct FailedElsewhere {};

template <class Kind>
class Elsewhere final : public Kind, public FailedElsewhere {
    using Kind::Kind;
};

/// Some ranks do not answer and the others wait for them: the job must be aborted. Thrown on rank 0 only, or on rank 1
/// only when rank 0 is the one that does not answer.
class RanksMissing : public Error {
  public:
    using Error::Error;
};

}  // namespace pb::comm

namespace pb::comm::mpi {

/// The result of a step on this rank.
struct StepOutcome {
    std::optional<std::string> error;
    bool out_of_memory = false;
};

/// Runs `step` and returns what it throws as a value. Not collective.
[[nodiscard]] StepOutcome try_step(const std::function<void()>& step);

/// Collective: when any rank has an error, all ranks throw: OutOfMemory when any rank ran out of memory, otherwise
/// Error. A rank that failed throws its own text; the others throw Elsewhere with the merged texts.
void agree_on_step(const Communicator& communicator, const StepOutcome& outcome);

/// try_step, then agree_on_step. `step` must contain no collective call.
void step_together(const Communicator& communicator, const std::function<void()>& step);

class BarrierWithTimeout {
  public:
    /// Collective. Its messages have a communicator of their own, so that a late one disturbs no other call.
    explicit BarrierWithTimeout(const Communicator& communicator);
    /// Collective: returns on all ranks once all have arrived. Rank 0 waits `timeout_s` and then throws RanksMissing,
    /// which names `what` and the missing ranks with their hosts; the ranks that arrived wait until the job is ended
    /// (MpiSession::abort). Rank 1 waits twice as long for rank 0 and then throws the same error about it.
    void operator()(const std::string& what, double timeout_s) const;

  private:
    Communicator communicator_;
    std::vector<std::string> hosts_;
};

}  // namespace pb::comm::mpi
