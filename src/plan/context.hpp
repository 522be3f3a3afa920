// The ways of giving the network its context round the patches, side by side: what each computes and takes, and which
// of them `halo: auto` takes. For the engines native and torch on the CPU in fp32; with others `halo: auto` searches
// for a halo, always.
#pragma once

#include "plan/plan.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::plan {

/// A way, and the point settled in it.
struct ContextWay {
    Point point;
    bool is_exact = true;            // the pixels are those of the whole image; otherwise seams below halo_tolerance
    bool is_at_least = false;        // the halo is not known yet: a smaller one than any that a search may find
    double computed_per_useful = 0;  // see prediction.hpp
    double work_px = 0;              // of the busiest rank; pixels in bands count more, see `band_cost`
    double peak_mib = 0;             // of a rank
    bool has_other_bits = false;     // than one rank, which carries rows
    std::string obstacle;            // why it is not taken, whatever it computes; empty: it can be
};

/// What a pixel takes in bands of `rows` rows, beside one in a window of 256 x 256: fitted to bands of 32 to 256 rows
/// of DnCNN and DRUNet (docs/results/cpu-speed.md).
[[nodiscard]] double band_cost(int64_t rows);

/// Whether `halo: auto` weighs ways for this point: of an engine that can carry rows, with more than one patch. Not
/// where the largest batch of windows is searched, nor for small images, whose windows share batches with those of
/// other images.
[[nodiscard]] bool is_weighed(const Point& point);

/// Carried rows and, for several ranks of native, exchanged rows (both with schedule contiguous), tiles with the exact
/// halo, and tiles with a halo of `seam_halo` px (none: the smallest there is). Where one rank would carry rows,
/// several ranks do not take tiles, so that the bits do not depend on their number. Requires is_weighed() and a point
/// of make_plan.
[[nodiscard]] std::vector<ContextWay> context_ways(const Point& point, std::optional<int64_t> seam_halo);

/// The way of least work among those without obstacle. Ways within 8 % of it are equal: of these an exact one, and of
/// several the one that takes least memory. Without any, the way that takes least memory.
[[nodiscard]] const ContextWay& cheapest_way(const std::vector<ContextWay>& ways);

/// "carried rows in bands of 64, 3 strips of 1216 columns", "tiles with the exact halo of 20 px", "tiles with a halo of
/// 8 px, Winograd tiles of 2 x 2 (1.6 x the time)".
[[nodiscard]] std::string way_text(const ContextWay& way);

/// A step of make_plan: settles an open halo where an exact way wins, whatever halo a search would find, and that of a
/// network whose layers are not known where its exact halo is small. Otherwise the halo stays open.
void weigh_context(Point& point, const Topology& topology);

/// Settles an open halo, after a search that found `seam_halo`.
void settle_searched_halo(Point& point, int64_t seam_halo);

}  // namespace pb::plan
