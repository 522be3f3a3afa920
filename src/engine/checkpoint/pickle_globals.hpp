// The only names that a pickle may call, and what calling them makes. Nothing else can be reached.
#pragma once

#include "engine/checkpoint/pickle_value.hpp"

#include <optional>
#include <string_view>

namespace pb {

/// `collections.OrderedDict`, `torch._utils._rebuild_*`, `torch.FloatStorage`, ...; nothing for any other name.
[[nodiscard]] std::optional<PickleValue> find_global(std::string_view module, std::string_view name);

/// What calling `callable` gives, made in `heap`; nothing when the arguments do not fit. `arguments` may be a tuple of
/// `heap`: none is added or changed.
[[nodiscard]] std::optional<PickleValue> call_global(Callable callable, const std::vector<PickleValue>& arguments,
                                                     PickleHeap& heap);

/// The storage that a persistent id ('storage', type, key, location, elements[, None]) names.
[[nodiscard]] std::optional<PickleValue> find_persistent(const PickleValue& id, PickleHeap& heap);

}  // namespace pb
