#include "device/row_loops.hpp"

namespace pb {
const RowKernels kBaselineRows = kLoops;
}  // namespace pb
