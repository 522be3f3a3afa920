// Wrong pixels on request, for the tests alone (base/fault.hpp, stage `output`): what a rank's network delivers is
// changed before it is stored, whatever the output, the device or the precision.
#pragma once

#include "run/pixels/core_sink.hpp"

#include <memory>

namespace pb {

/// `sink` itself, or, where a fault of the stage `output` is wanted of this process, something that spoils samples on
/// their way into it. `source` gives what the identity would deliver and must outlive it.
[[nodiscard]] std::unique_ptr<CoreSink> with_faults(std::unique_ptr<CoreSink> sink, ImageSource& source);

}  // namespace pb
