// Compiles the loops once for each instruction set and chooses one at run time.
#include "device/rows.hpp"

#include "base/sample_value.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/rows.inl"
// clang-format off
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include "device/rows.inl"
// clang-format on

namespace pb::device {

HWY_EXPORT(rows_of_target);

AllRowKernels find_row_kernels() { return HWY_DYNAMIC_DISPATCH(rows_of_target)(); }

}  // namespace pb::device
