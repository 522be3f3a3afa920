#include "device/rows/loops.hpp"

namespace pb::device {
const RowKernels kBaselineRows = kLoops;
}  // namespace pb::device
