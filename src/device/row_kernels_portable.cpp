#include "device/row_kernels.hpp"

namespace pb {

const RowKernels& row_kernels() { return kBaselineRows; }

}  // namespace pb
