// What counts as a noise level.
#pragma once

namespace pb {

/// [0,1] units: far below one grey level of 16 bits' noise. A network trained for one sigma scales its input by the
/// quotient of two.
inline constexpr double kSmallestSigma = 1e-4;

}  // namespace pb
