// How a point fits into the memory that a rank may take: by a smaller form of Winograd's method in engine native, and
// with carried rows by strips (network/parts/band_schedule.hpp), of which there are as few as fit.
#pragma once

#include "network/native_layout.hpp"
#include "network/parts/band_schedule.hpp"
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

/// The tile that it was settled to; in bf16 it has no meaning.
[[nodiscard]] int64_t winograd_tile(const Point& point);

/// With that tile, in the point's precision.
[[nodiscard]] network::WinogradForm winograd_form(const Point& point);

/// Transformed weights of engine native that a rank counts: its part of those that the ranks of its node share.
[[nodiscard]] int64_t weight_bytes(const Point& point);

/// Scratch memory of the threads of a rank of engine native.
[[nodiscard]] int64_t scratch_bytes(const Point& point);

/// The memory that a rank of the point may take: memory_limit_mib, else its part of half of what its host has left, or
/// of 0.8 of its GPU's; 0: unknown.
[[nodiscard]] double most_mib_of(const Point& point, const Topology& topology);

/// The least memory that a rank of the point has of its GPU, which ranks may share, in MiB; 0 where it is unknown or
/// the point computes on the CPU.
[[nodiscard]] double device_mib(const Point& point, const Topology& topology);

/// Of a point with carried rows, on the padded image; one strip where it is not cut.
[[nodiscard]] std::vector<network::Strip> strips_of(const Point& point);

/// Arithmetic by that of one strip: what the context of strips costs.
[[nodiscard]] double strip_cost(const Point& point);

/// Settles strips and the Winograd tile of a point whose halo is settled, as `most_mib` of the point and its limit ask
/// for: of strips as few as fit, and none where no number of them does. A note says which. Points without carried rows
/// have no strips.
void settle_memory(Point& point);

/// Throws Refused where carried rows do not fit memory_limit_mib in any number of strips, with what they take at least.
void check_strips(const Point& point);

/// "3 strips of 1216 columns"; empty where the image is not cut.
[[nodiscard]] std::string strips_text(const Point& point);

}  // namespace pb::plan
