// Names of enumerators, listed once: the YAML reader, `--help`, the results and the error messages all read this table.
#pragma once

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pb {

/// An enumeration lists its names beside it: `constexpr auto enum_names(E)` returns a `std::to_array<EnumName<E>>`.
template <class E>
using EnumName = std::pair<E, std::string_view>;

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

constexpr auto enum_names(DType) {
    return std::to_array<EnumName<DType>>({{DType::u8, "u8"},
                                           {DType::u16, "u16"},
                                           {DType::f16, "f16"},
                                           {DType::bf16, "bf16"},
                                           {DType::f32, "f32"},
                                           {DType::f64, "f64"},
                                           {DType::i16, "i16"},
                                           {DType::u32, "u32"}});
}

constexpr auto enum_names(Precision) {
    return std::to_array<EnumName<Precision>>(
        {{Precision::fp32, "fp32"}, {Precision::tf32, "tf32"}, {Precision::bf16, "bf16"}, {Precision::fp16, "fp16"}});
}

constexpr auto enum_names(Layout) {
    return std::to_array<EnumName<Layout>>(
        {{Layout::channels_last, "channels_last"}, {Layout::contiguous, "contiguous"}});
}

}  // namespace pb
