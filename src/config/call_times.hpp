// T(b): how long the simulated device of the engine `timed` takes for a batch of b windows. Arithmetic on its settings.
#pragma once

#include "config/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb {

struct CallTime {
    int64_t batch = 1;
    double seconds = 0;  // of one forward call with so many windows
};

class CallTimes {
  public:
    /// Throws UsageError for a table that is not like "1:0.012,4:0.03": batches ascending, times not negative.
    explicit CallTimes(const TimedSettings& settings);

    /// Linear between the entries of a table; below its first entry that entry's time. Throws UsageError beyond its
    /// last: nothing is known of larger batches.
    [[nodiscard]] double seconds(int64_t batch) const;
    /// "0.001 s + 0.01 s b", or the table.
    [[nodiscard]] std::string formula() const;

  private:
    TimedSettings settings_;
    std::vector<CallTime> table_;  // ascending; empty: base and slope hold
};

/// The setting `timed.table` for these times: the inverse of what CallTimes reads.
[[nodiscard]] std::string call_table(std::vector<CallTime> times);

}  // namespace pb
