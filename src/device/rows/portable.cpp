#include "device/rows/kernels.hpp"

namespace pb::device {

const RowKernels& row_kernels() { return kBaselineRows; }

}  // namespace pb::device
