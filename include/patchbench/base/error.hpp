// Errors as part of the interface: every error says what went wrong, where, and what to do about it, and carries the
// exit code that all ranks end with. Thrown in the layers, met in main (or turned into a point's status by `run`).
#pragma once

#include <stdexcept>
#include <string>

namespace pb {

/// Exit codes of the program, the same on all ranks.
enum class ExitCode : int {
    ok = 0,
    failed = 1,          ///< the run failed
    usage = 2,           ///< command line, config, or a wrong launch
    verification = 3,    ///< a fast wrong run is a failed run
    not_comparable = 4,  ///< slower than the reference, or INVALID under --strict
    partial = 5          ///< some points out of memory, timed out or interrupted
};

class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& message, ExitCode code = ExitCode::failed)
        : std::runtime_error(message), code_(code) {}
    [[nodiscard]] ExitCode code() const noexcept { return code_; }

  private:
    ExitCode code_;
};

/// The user asked for something that cannot be: a config value, an option, a wrong launch. Exit code 2.
class UsageError : public Error {
  public:
    explicit UsageError(const std::string& message) : Error(message, ExitCode::usage) {}
};

/// What was asked for is well said but cannot be here: no such device, too few ranks, a shape that `odd_shape: error`
/// refuses. A study goes on without that point (status `refused`); where nothing else was asked it is a UsageError.
class Refused : public UsageError {
  public:
    using UsageError::UsageError;
};

/// Memory of the device (or under a cap) ran out. A point's status becomes `oom`; the next point runs.
class OutOfMemory : public Error {
  public:
    using Error::Error;
};

/// A sample has too many elements for 32-bit indexing in some layer (status `index_limit`, never `oom`).
class IndexLimit : public Error {
  public:
    using Error::Error;
};

/// SIGINT, SIGTERM or SIGUSR1 asked the run to end: what is finished is kept, exit code 5.
class Interrupted : public Error {
  public:
    explicit Interrupted(const std::string& message) : Error(message, ExitCode::partial) {}
};

/// Throws `Error(message)` unless `condition` holds. For broken promises between parts of the program.
inline void require(bool condition, const std::string& message) {
    if (!condition) throw Error(message);
}

}  // namespace pb
