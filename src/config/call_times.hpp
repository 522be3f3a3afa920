// T(b): the time that the simulated device of engine `timed` takes for a batch of b windows, computed from its
// settings.
#pragma once

#include "config/settings.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace pb::config {

struct CallTime {
    int64_t batch = 1;
    double seconds = 0;  // duration of one forward call of this batch
};

class CallTimes {
  public:
    /// Throws UsageError for a table unlike "1:0.012,4:0.03" (batches ascending, times not negative).
    explicit CallTimes(const TimedSettings& settings);

    /// Linear between the entries of a table; below the first entry, the time of that entry. Throws UsageError for a
    /// batch above the last entry.
    [[nodiscard]] double seconds(int64_t batch) const;
    /// "0.001 s + 0.01 s b", or the table.
    [[nodiscard]] std::string formula() const;

  private:
    TimedSettings settings_;
    std::vector<CallTime> table_;  // ascending; empty: base_s and per_window_s apply
};

/// The text of `timed.table` for these times, as CallTimes reads it.
[[nodiscard]] std::string call_table(std::vector<CallTime> times);

}  // namespace pb::config
