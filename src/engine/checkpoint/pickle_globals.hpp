// The only names that a pickle may call, and the results of such calls. All other names are refused.
#pragma once

#include "engine/checkpoint/pickle_value.hpp"

#include <optional>
#include <string_view>

namespace pb::engine {

/// `collections.OrderedDict` and `Counter`, `torch._utils._rebuild_*`, `torch.FloatStorage`, ..., and the classes of
/// settings that scripts save beside weights (`argparse.Namespace`, paths, numbers of NumPy); nullopt for any other
/// name.
[[nodiscard]] std::optional<PickleValue> find_global(std::string_view module, std::string_view name);

/// The result of calling `callable`, made in `heap`; nullopt when the arguments do not fit. `arguments` may be a tuple
/// of `heap`, since no tuple is added or changed.
[[nodiscard]] std::optional<PickleValue> call_global(Callable callable, const std::vector<PickleValue>& arguments,
                                                     PickleHeap& heap);

/// The storage that a persistent id ('storage', type, key, location, elements[, None]) names.
[[nodiscard]] std::optional<PickleValue> find_persistent(const PickleValue& id, PickleHeap& heap);

}  // namespace pb::engine
