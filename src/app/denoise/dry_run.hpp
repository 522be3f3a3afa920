// What `denoise --dry-run` says: the memory and arithmetic that images are predicted to take.
#pragma once

#include "plan/plan.hpp"
#include "record/fields.hpp"

#include <cstdint>
#include <string>

namespace pb::app {

/// What the passes over images, their pages and groups of bands are predicted to take.
struct PlannedNeeds {
    int64_t passes = 0;
    int64_t unknown = 0;  // passes of networks whose layers are not known
    int64_t bounded = 0;  // passes whose halo or batch is found by trying: counted with the smallest ones
    double tflop = 0;     // on all ranks
    double peak_mib = 0;  // the largest of one rank, in the engine's allocator

    /// Adds so many passes of a point.
    void add(const plan::Point& point, int64_t times);
    void operator+=(const PlannedNeeds& other);

    /// Says where this is more than a rank of `point` may take; empty otherwise.
    [[nodiscard]] std::string memory_note(const plan::Point& point) const;

    /// "predicted: at least 1.111 TFLOP, peak at least 642 MiB a rank", or that it is not known.
    [[nodiscard]] std::string text() const;
};

template <class V, record::Like<PlannedNeeds> R>
void fields(V& v, R& needs) {
    v("passes", needs.passes);
    v("unknown_passes", needs.unknown);
    v("bounded_passes", needs.bounded);
    v("tflop", needs.tflop);
    v("peak_mib", needs.peak_mib);
}

}  // namespace pb::app
