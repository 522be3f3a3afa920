// What becomes of `output: auto`, from what an image takes and what is free.
#pragma once

#include "config/setting_types.hpp"

#include <cstdint>
#include <string>

namespace pb {

/// Whether an input and an output of so many bytes each take more than half of what is free on a host.
[[nodiscard]] bool is_beyond_memory(double image_bytes, int64_t free_bytes);

struct OutputChoice {
    OutputKind kind = OutputKind::memory;  // or file
    std::string note;                      // for the user
};

/// Of an image that is beyond memory on any host. `obstacle`: why the output cannot be a file that all ranks write;
/// empty: it can.
[[nodiscard]] OutputChoice choose_output(const std::string& obstacle);

}  // namespace pb
