// Planted faults in the output, for tests only (base/fault.hpp, stage `output`). They change the output of one rank's
// network before it is stored, for every kind of output, device and precision.
#pragma once

#include "run/pixels/core_sink.hpp"

#include <memory>

namespace pb::run {

/// Returns `sink`, or, when a fault of the stage `output` is requested for this process, a sink that changes samples
/// before it passes them to `sink`. `source` supplies the noisy image, which the fault `identity` writes, and must
/// outlive the result.
[[nodiscard]] std::unique_ptr<CoreSink> with_faults(std::unique_ptr<CoreSink> sink, ImageSource& source);

}  // namespace pb::run
