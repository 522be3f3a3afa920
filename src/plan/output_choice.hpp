// Where the output of a point goes: to memory, to a file that all ranks write, or as a checksum nowhere.
#pragma once

#include "config/settings.hpp"
#include "plan/plan.hpp"

#include <cstdint>
#include <string>

namespace pb::plan {

/// Why ranks cannot take their parts of the input, each for itself, as an output outside of memory needs it; empty when
/// they can.
[[nodiscard]] std::string input_obstacle(const Point& point);

/// Checks what an output outside of memory (file, checksum) requires. Throws UsageError.
void check_output(const Point& point, const config::StudySettings& study);

/// Whether an input and an output of `image_bytes` each take more than half of the free memory of a host.
[[nodiscard]] bool is_beyond_memory(double image_bytes, int64_t free_bytes);

struct OutputChoice {
    config::OutputKind kind = config::OutputKind::memory;  // or file
    std::string note;                                      // for the user
};

/// Resolves `output: auto` for an image that is beyond memory on any host. `obstacle`: why the output cannot be a file
/// that all ranks write; empty when it can.
[[nodiscard]] OutputChoice choose_output(const std::string& obstacle);

}  // namespace pb::plan
