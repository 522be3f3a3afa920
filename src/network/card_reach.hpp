// The part of find_card.hpp that looks how far a network sees.
#pragma once

#include "network/card_trials.hpp"

namespace pb::network {

/// Sets alignment (to the period of the network, where that is larger than the step of its extents), radius and halo of
/// `trials.card`. `base`: extent of a window that is accepted. Adds to `remarks` why a network is unbounded, and a
/// shift of its output.
void find_reach(CardTrials& trials, int64_t base, std::vector<std::string>& remarks);

}  // namespace pb::network
