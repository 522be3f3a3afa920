// Compiles the kernels once for each instruction set and chooses one at run time. foreach_target.h includes
// target_kernels.inl for all instruction sets but the baseline, and leaves the baseline for the line after it.
#include "engine/native/kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/target_kernels.inl"
// clang-format off
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "engine/native/target_kernels.inl"
// clang-format on

namespace pb::engine::native {

HWY_EXPORT(kernels_of_target);

Kernels find_kernels() { return HWY_DYNAMIC_DISPATCH(kernels_of_target)(); }

}  // namespace pb::engine::native
