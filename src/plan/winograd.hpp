// The form of Winograd's method in which the engine native computes a point.
#pragma once

#include "network/native_layout.hpp"
#include "plan/plan.hpp"

namespace pb::plan {

/// Time of a network with small tiles, beside the usual ones (docs/results/cpu-speed.md).
inline constexpr double kSmallTileCost = 1.6;

/// Whether what the point needs at least fits memory_limit_mib. A batch that is open counts as one window, and a patch
/// as the window while the halo is open.
[[nodiscard]] bool fits_limit(const Point& point);

/// Small tiles where the point fits memory_limit_mib with them and not with the usual ones, and a note on them. For
/// engine native in fp32, else nothing. Settle the halo first: what a rank takes depends on it.
void settle_winograd(Point& point);

/// Whether there are smaller tiles for the point than the usual ones, which a memory limit may ask for.
[[nodiscard]] bool has_small_tiles(const Point& point);

/// Says in a note that the point has them, and why.
void note_small_tiles(Point& point);

/// The tile that it was settled to; in bf16 it has no meaning.
[[nodiscard]] int64_t winograd_tile(const Point& point);

/// With that tile, in the point's precision.
[[nodiscard]] network::WinogradForm winograd_form(const Point& point);

/// Transformed weights of engine native that a rank counts: its part of those that the ranks of its node share.
[[nodiscard]] int64_t weight_bytes(const Point& point);

/// Scratch memory of the threads of a rank of engine native.
[[nodiscard]] int64_t scratch_bytes(const Point& point);

}  // namespace pb::plan
