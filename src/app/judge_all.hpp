// One verdict on what ranks did apart from each other.
#pragma once

#include "comm/communicator.hpp"
#include "measure/verdict.hpp"

namespace pb {

/// `judge` of what each rank brings, in the order of the ranks. Collective; the reasons are on rank 0 alone, the exit
/// code on all ranks.
[[nodiscard]] Verdict judge_all(const Communicator& world, const std::vector<Summary>& mine);

}  // namespace pb
