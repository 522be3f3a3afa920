// Names of enumerators, listed once: the YAML reader, `--help`, the results and the error messages all read this table.
#pragma once

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pb {

/// An enumeration has its names beside it: `constexpr auto enum_names(E)` returns `enumerators<E>()`, or a
/// `std::to_array<EnumName<E>>` where users read other words.
template <class E>
using EnumName = std::pair<E, std::string_view>;

/// What the program calls the enumerator `value`; empty when it has no enumerator of that value. GCC and Clang write it
/// into the name of this function: "[with auto value = pb::Layout::contiguous; ..", "(pb::Layout)2" without a name.
template <auto value>
[[nodiscard]] consteval std::string_view spelling() {
    constexpr std::string_view kBegin = "value = ";
    std::string_view name = __PRETTY_FUNCTION__;
    name.remove_prefix(name.find(kBegin) + kBegin.size());
    name = name.substr(0, name.find_first_of(";]"));
    return name.starts_with('(') ? "" : name.substr(name.rfind(':') + 1);
}

/// The enumerators of `E` and what the program calls them. They count from 0.
template <class E, int... values>
[[nodiscard]] consteval auto enumerators() {
    constexpr int kNext = sizeof...(values);
    if constexpr (spelling<static_cast<E>(kNext)>().empty())
        return std::array{EnumName<E>(static_cast<E>(values), spelling<static_cast<E>(values)>())...};
    else
        return enumerators<E, values..., kNext>();
}

template <class E>
concept NamedEnum = requires {
    enum_names(E{});
};

template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
    for (const auto& [enumerator, name] : enum_names(E{}))
        if (enumerator == value) return name;
    return "?";
}

/// All names of `E`, joined by `separator`.
template <NamedEnum E>
[[nodiscard]] std::string names_of(const std::string& separator = " | ") {
    std::string all;
    for (const auto& [enumerator, name] : enum_names(E{})) all += (all.empty() ? "" : separator) + std::string(name);
    return all;
}

/// The enumerator called `name`; throws UsageError that lists the names.
template <NamedEnum E>
[[nodiscard]] E parse_enum(std::string_view name) {
    for (const auto& [enumerator, known] : enum_names(E{}))
        if (known == name) return enumerator;
    throw UsageError("'" + std::string(name) + "' is none of: " + names_of<E>());
}

constexpr auto enum_names(DType) { return enumerators<DType>(); }

constexpr auto enum_names(Precision) { return enumerators<Precision>(); }

constexpr auto enum_names(Layout) { return enumerators<Layout>(); }

}  // namespace pb
