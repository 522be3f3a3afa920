// Wrong pixels on request, for the tests alone (base/fault.hpp, stage `output`): what a rank's network delivers is
// changed before it is kept, whatever the output, the device or the precision.
#pragma once

#include "run/pixels/pixel_ways.hpp"

#include <memory>

namespace pb {

/// `output` itself, or, where a fault of the stage `output` is wanted of this process, something that spoils samples on
/// their way into it. `source` gives what the identity would deliver and must outlive it.
[[nodiscard]] std::unique_ptr<Output> with_faults(std::unique_ptr<Output> output, ImageSource& source);

}  // namespace pb
