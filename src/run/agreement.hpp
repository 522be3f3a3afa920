// One rank's failure is everybody's: a step is tried on every rank, the ranks agree on the worst outcome, and all of
// them throw the same error or none does. So no rank waits in a collective for one that has given up.
#pragma once

#include "comm/communicator.hpp"
#include "record/point.hpp"

#include "patchbench/base/error.hpp"

#include <functional>
#include <string>

namespace pb {

/// A point ended early, on all ranks alike. `status` is what the results say.
class PointFailed : public Error {
  public:
    PointFailed(PointStatus status, const std::string& reason) : Error(reason), status_(status) {}
    [[nodiscard]] PointStatus status() const { return status_; }

  private:
    PointStatus status_;
};

/// An error that all ranks throw together: main prints it once and ends without abort.
class AgreedError : public Error {
  public:
    using Error::Error;
};

/// What one rank's attempt came to.
struct Attempt {
    enum class Kind : uint8_t { ok, interrupted, oom, index_limit, failed, usage };  // ascending: the worst decides
    Kind kind = Kind::ok;
    std::string reason;
};

/// Runs `step` on this rank and turns what it throws into a value. Not collective.
[[nodiscard]] Attempt attempt(const std::function<void()>& step);

/// Collective: throws PointFailed (oom, index_limit, failed, interrupted) or AgreedError with exit code 2 (usage) on
/// all ranks when any rank's attempt did not end well.
void agree_on(const Communicator& communicator, const Attempt& attempt);

/// attempt, then agree_on. `step` must contain no collective call that another rank could miss.
void together(const Communicator& communicator, const std::function<void()>& step);

}  // namespace pb
