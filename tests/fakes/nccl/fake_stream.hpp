// A stand-in for the entry points of libcudart that the comm layer meets, enough to carry the fake NCCL: memory of a
// device is host memory, filled with a pattern; a stream is a queue whose work is done late, while somebody looks at
// it. What is enqueued too early, or read too early, is so found wrong.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

namespace fake {

/// One piece of a stream's work: called when it is next in its stream, again and again until it returns true.
using Work = std::function<bool()>;

void enqueue(cudaStream_t stream, Work work);

/// How many looks something stays unfinished: random, 0 to 3. FAKE_NCCL_SEED in the environment chooses the numbers,
/// which differ between ranks.
[[nodiscard]] int random_patience();

}  // namespace fake
