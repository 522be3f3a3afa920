// A CUDA runtime without a device, for tests: linked in place of libcudart, beneath the program's own device layer.
// Device memory is host memory. A stream is a queue whose work runs late, when the program waits for it or when chance
// has it so, in any order that streams and events allow: which one, the seed decides. What a real device answers with
// wrong pixels, now and then, ends the test here with its name:
//
//   - work that overtakes other work on the same memory, because no event orders them
//   - the host touching memory that work in flight writes, or writing what it has still to read
//   - memory freed while work in flight uses it, used after it was freed, freed twice, never freed
//   - a stream, an event or memory of another device; device memory touched by the host; a copy beyond an end
//
// New memory is full of a pattern that is NaN in every float type. Single-threaded. LibTorch's own CUDA is not faked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pb::fakes {

struct FakeCudaOptions {
    uint64_t seed = 1;
    int num_devices = 1;
    size_t device_bytes = size_t{4} << 30;
};

/// A machine with devices. Ends the test when something is left at its end. One at a time; a test that makes none has a
/// machine of the default options.
class FakeCuda {
  public:
    explicit FakeCuda(const FakeCudaOptions& options = {});
    ~FakeCuda();
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    /// The most streams that had copies or kernels in flight at once: 1 when nothing ever overlapped.
    [[nodiscard]] int most_busy_streams() const;
};

}  // namespace pb::fakes
