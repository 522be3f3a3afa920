// Reads pickles without executing anything. Knows only the opcodes that torch.save (pickle protocol 2) uses for a state
// dict, and makes the values of pickle_value.hpp.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"
#include "engine/checkpoint/pickle_value.hpp"

namespace pb::engine {

/// Reads one pickle up to and including its STOP; makes its values in `heap`. Throws UsageError with the byte offset
/// where the pickle is damaged or names something that no state dict needs.
[[nodiscard]] PickleValue run_pickle(ByteReader& reader, PickleHeap& heap);

}  // namespace pb::engine
