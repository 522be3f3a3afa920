// Gives one verdict on work that ranks did separately.
#pragma once

#include "comm/communicator.hpp"
#include "measure/verdict.hpp"

namespace pb {

/// Applies `judge` to the summaries of all ranks, in the order of the ranks. Collective. Only rank 0 gets the reasons;
/// all ranks get the exit code.
[[nodiscard]] Verdict judge_all(const Communicator& world, const std::vector<Summary>& mine);

}  // namespace pb
