// What the fake NCCL puts into streams: one operation, or several that go on side by side.
#pragma once

#include "communicator.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fake {

/// What both ends of an exchange must agree on.
struct Call {
    enum class Kind : int32_t { all_gather, all_reduce, point_to_point };
    Kind kind = Kind::all_gather;
    int32_t type = 0;  // ncclDataType_t
    int32_t reduction = 0;
    uint64_t count = 0;
    friend bool operator==(const Call&, const Call&) = default;
};

/// Memory of an operation, its own and where the result goes; either may be null.
struct Buffers {
    const void* input = nullptr;
    void* output = nullptr;
};

/// Work as fake_stream.hpp's: true once it is done or its communicator aborted. Those of several are mixed.
using Step = std::function<bool()>;
[[nodiscard]] Step collective(const Shared& communicator, const Call& call, const Buffers& buffers, bool add_one);
[[nodiscard]] Step send_to(const Shared& communicator, const Call& call, const void* input, int peer);
[[nodiscard]] Step receive_from(const Shared& communicator, const Call& call, void* output, int peer);
[[nodiscard]] Step side_by_side(std::vector<Step> steps);

}  // namespace fake
