// An array with an element for each enumerator, found by it.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <array>
#include <cstddef>

namespace pb {

template <NamedEnum E, class T>
struct EnumArray : std::array<T, enum_table<E>().size()> {
    using Base = std::array<T, enum_table<E>().size()>;
    using Base::operator[];
    [[nodiscard]] constexpr T& operator[](E value) { return (*this)[static_cast<size_t>(value)]; }
    [[nodiscard]] constexpr const T& operator[](E value) const { return (*this)[static_cast<size_t>(value)]; }
};

}  // namespace pb
