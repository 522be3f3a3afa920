// In place of the CUDA backend in a build without CUDA: there is no device, and nothing can be asked of one.
#include "device/cuda/backend.hpp"

#include "patchbench/base/error.hpp"

namespace pb::device::cuda {
namespace {
[[noreturn]] void refuse() {
    throw UsageError("device cuda: this patchbench was built without CUDA (PATCHBENCH_CUDA=OFF); use device cpu");
}
}  // namespace

Discovery discover() { return {{}, "this patchbench was built without CUDA (PATCHBENCH_CUDA=OFF)"}; }
std::vector<LibraryVersion> versions() { return {}; }

void select(int) { refuse(); }
void synchronise(int) { refuse(); }
DeviceMemory memory(int) { refuse(); }

void destroy_stream(void*) noexcept {}
void destroy_event(void*) noexcept {}
void* make_stream(int) { refuse(); }
void* make_event(int) { refuse(); }
void wait(void*, void*) { refuse(); }
void synchronise_stream(void*) { refuse(); }
void record(void*, void*) { refuse(); }
void synchronise_event(void*) { refuse(); }
double seconds_between(void*, void*) { refuse(); }

std::byte* allocate(Memory, int, size_t) { refuse(); }
void release(Memory, std::byte*) noexcept {}
void copy(void*, const void*, size_t, Direction, void*) { refuse(); }

void samples_to_network(const BatchView&, const BatchView&, const Conversion&, void*) { refuse(); }
void network_to_samples(const BatchView&, const BatchView&, const Conversion&, void*) { refuse(); }
void count_not_finite(const BatchView&, PartCount*, int64_t, void*) { refuse(); }

}  // namespace pb::device::cuda
