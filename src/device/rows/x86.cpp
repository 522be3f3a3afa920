#include "device/rows/kernels.hpp"

namespace pb::device {

const RowKernels& row_kernels() {
    static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has_avx2 ? kAvx2Rows : kBaselineRows;
}

}  // namespace pb::device
