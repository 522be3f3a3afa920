// One rank's failure is everybody's, inside the comm layer.
#pragma once

#include "comm/communicator.hpp"

#include <functional>
#include <optional>
#include <string>

namespace pb::mpi {

/// What a step came to on this rank.
struct StepOutcome {
    std::optional<std::string> error;
    bool out_of_memory = false;
};

/// Runs `step` and turns what it throws into a value. Not collective.
[[nodiscard]] StepOutcome try_step(const std::function<void()>& step);

/// Collective: when a rank met an error, all ranks throw, OutOfMemory when any met one, otherwise Error: those that met
/// one their own text, the others the merged texts (failed_elsewhere.hpp).
void agree_on_step(const Communicator& communicator, const StepOutcome& outcome);

/// Both: `step` must contain no collective call.
void step_together(const Communicator& communicator, const std::function<void()>& step);

}  // namespace pb::mpi
