// The tables that exist on x86-64 beside the baseline.
#pragma once

#include "device/row_kernels.hpp"

namespace pb {
extern const RowKernels kAvx2Rows;
}  // namespace pb
