// Names of enumerators, listed once: the YAML reader, `--help`, the results and the error messages all read this table.
#pragma once

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace pb {

/// Specialise with `static constexpr std::array<std::pair<E, std::string_view>, N> names`.
template <class E>
struct EnumNames;

template <class E>
concept NamedEnum = requires {
    EnumNames<E>::names;
};

template <NamedEnum E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
    for (const auto& [enumerator, name] : EnumNames<E>::names)
        if (enumerator == value) return name;
    return "?";
}

/// All names of `E`, joined by `separator`.
template <NamedEnum E>
[[nodiscard]] std::string names_of(const std::string& separator = " | ") {
    std::string all;
    for (const auto& [enumerator, name] : EnumNames<E>::names)
        all += (all.empty() ? "" : separator) + std::string(name);
    return all;
}

/// The enumerator called `name`; throws UsageError that lists the names.
template <NamedEnum E>
[[nodiscard]] E parse_enum(std::string_view name) {
    for (const auto& [enumerator, known] : EnumNames<E>::names)
        if (known == name) return enumerator;
    throw UsageError("'" + std::string(name) + "' is none of: " + names_of<E>());
}

template <>
struct EnumNames<DType> {
    static constexpr std::array<std::pair<DType, std::string_view>, 8> names{{{DType::u8, "u8"},
                                                                              {DType::u16, "u16"},
                                                                              {DType::f16, "f16"},
                                                                              {DType::bf16, "bf16"},
                                                                              {DType::f32, "f32"},
                                                                              {DType::f64, "f64"},
                                                                              {DType::i16, "i16"},
                                                                              {DType::u32, "u32"}}};
};

template <>
struct EnumNames<Precision> {
    static constexpr std::array<std::pair<Precision, std::string_view>, 4> names{
        {{Precision::fp32, "fp32"}, {Precision::tf32, "tf32"}, {Precision::bf16, "bf16"}, {Precision::fp16, "fp16"}}};
};

template <>
struct EnumNames<Layout> {
    static constexpr std::array<std::pair<Layout, std::string_view>, 2> names{
        {{Layout::channels_last, "channels_last"}, {Layout::contiguous, "contiguous"}}};
};

}  // namespace pb
