// Work that does the same each time, and that CUDA can therefore capture once and replay.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace pb::engine::torch_engine {

/// Work with the same key works on the same memory: it reads `in` and writes `out`.
struct ReplayKey {
    const void* in = nullptr;
    const void* out = nullptr;
    int64_t phase = 0;  // of several pieces of work on them

    friend auto operator<=>(const ReplayKey&, const ReplayKey&) = default;
};

class Replays {
  public:
    virtual ~Replays() = default;
    /// Enqueues `work` the first time that there is a key, captures it the second time, and replays it from then on.
    virtual void run(const ReplayKey& key, const std::function<void()>& work) = 0;
    /// Peak bytes that captured work took from the allocator.
    [[nodiscard]] virtual int64_t captured_bytes() const = 0;
};

}  // namespace pb::engine::torch_engine
