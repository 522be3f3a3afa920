// When a point has been repeated often enough. Pure: samples and times come in, a decision goes out. Not collective:
// one rank asks it and tells the others, so that all stop on the same repetition.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <cstdint>
#include <vector>

namespace pb {

/// What ended the repetitions of a point.
enum class StopReason : uint8_t { none, interval, max_reps, max_time };

struct StoppingLimits {
    int64_t min_reps = 1;
    int64_t max_reps = 0;   // wins over min_reps; 0: none
    double rel_width = 0;   // of the median's 95 % interval, relative to the median; 0: never narrow enough
    double max_time_s = 0;  // no repetition begins later, min_reps apart
};

/// The interval of the median is computed after `kFirstLook` repetitions and then after geometrically spaced numbers of
/// them only: a rule that looks after each one stops at a lucky one, and the interval covers less than it says
/// (Jennison & Turnbull, "Group Sequential Methods", 1999).
class StoppingRule {
  public:
    static constexpr int64_t kFirstLook = 20;

    explicit StoppingRule(const StoppingLimits& limits);

    /// The time of one more repetition, and the time since the first one began. Nothing may be added once done.
    void add(double sample_s, double elapsed_s);

    [[nodiscard]] bool done() const { return reason_ != StopReason::none; }
    [[nodiscard]] StopReason reason() const { return reason_; }

  private:
    [[nodiscard]] bool is_narrow() const;
    [[nodiscard]] StopReason decide(double elapsed_s);

    StoppingLimits limits_;
    int64_t fewest_;
    int64_t next_look_;
    std::vector<double> samples_;
    StopReason reason_ = StopReason::none;
};

}  // namespace pb
