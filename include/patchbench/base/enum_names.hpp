// Names of enumerators, listed once: the YAML reader, `--help`, the results and the error messages all read this table.
#pragma once

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pb {

template <class E>
using EnumName = std::pair<E, std::string_view>;

/// What the program calls the enumerator `value`, "auto" (a keyword) for `automatic`; empty when it has no enumerator
/// of that value. GCC and Clang write it into the name of this function, as "value = pb::Layout::contiguous;", or
/// "value = (pb::Layout)2" without a name.
template <auto value>
[[nodiscard]] consteval std::string_view spelling() {
    constexpr std::string_view kBegin = "value = ";
    std::string_view name = __PRETTY_FUNCTION__;
    name.remove_prefix(name.find(kBegin) + kBegin.size());
    name = name.substr(0, name.find_first_of(";]"));
    if (name.starts_with('(')) return "";
    name.remove_prefix(name.rfind(':') + 1);
    return name == "automatic" ? "auto" : name;
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

/// The enumerators of `E` and what users call them: `constexpr auto enum_names(E)` beside it, which returns a
/// `std::to_array<EnumName<E>>`, where they read other words than the program.
template <class E>
[[nodiscard]] constexpr auto enum_table() {
    if constexpr (requires { enum_names(E{}); })
        return enum_names(E{});
    else
        return enumerators<E>();
}

/// An enumeration that counts from 0.
template <class E>
concept NamedEnum = std::is_enum_v<E> &&(enum_table<E>().size() > 0);

template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
    for (const auto& [enumerator, name] : enum_table<E>())
        if (enumerator == value) return name;
    return "?";
}

/// All names of `E`, joined by `separator`.
template <NamedEnum E>
[[nodiscard]] std::string names_of(const std::string& separator = " | ") {
    std::string all;
    for (const auto& [enumerator, name] : enum_table<E>()) all += (all.empty() ? "" : separator) + std::string(name);
    return all;
}

/// The enumerator called `name`; none where there is no such name.
template <NamedEnum E>
[[nodiscard]] constexpr std::optional<E> find_enum(std::string_view name) {
    for (const auto& [enumerator, known] : enum_table<E>())
        if (known == name) return enumerator;
    return std::nullopt;
}

/// As find_enum; throws UsageError that lists the names.
template <NamedEnum E>
[[nodiscard]] E parse_enum(std::string_view name) {
    if (const auto found = find_enum<E>(name)) return *found;
    throw UsageError("'" + std::string(name) + "' is none of: " + names_of<E>());
}

/// An array with an element for each enumerator, found by it.
template <NamedEnum E, class T>
struct EnumArray : std::array<T, enum_table<E>().size()> {
    using Base = std::array<T, enum_table<E>().size()>;
    using Base::operator[];
    [[nodiscard]] constexpr T& operator[](E value) { return (*this)[static_cast<size_t>(value)]; }
    [[nodiscard]] constexpr const T& operator[](E value) const { return (*this)[static_cast<size_t>(value)]; }
};

}  // namespace pb
