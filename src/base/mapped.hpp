// What a function makes of each of several items.
#pragma once

#include <functional>
#include <iterator>
#include <type_traits>
#include <vector>

namespace pb {

/// The values that `make` gives for the items, in their order. `make` is a function or a member.
template <class Items, class Make>
[[nodiscard]] auto mapped(Items&& items, Make make) {
    std::vector<std::remove_cvref_t<decltype(std::invoke(make, *std::begin(items)))>> all;
    if constexpr (requires { std::size(items); }) all.reserve(std::size(items));
    for (auto&& item : items) all.push_back(std::invoke(make, item));
    return all;
}

}  // namespace pb
