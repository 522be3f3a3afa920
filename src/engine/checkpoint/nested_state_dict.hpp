// Finds the state dict in what training scripts save: dicts in dicts, beside the optimizer, the epoch and so on.
#pragma once

#include "engine/checkpoint/pickle_value.hpp"

#include <string>

namespace pb::engine {

struct NestedStateDict {
    size_t dict = 0;   // index into PickleHeap::dicts
    std::string note;  // "'params_ema' is read, not 'params'"; empty when there was no choice
};

/// Follows the usual names, averaged weights first. Returns `outermost` when no state dict is found under them.
[[nodiscard]] NestedStateDict find_state_dict(const PickleHeap& heap, size_t outermost);

}  // namespace pb::engine
