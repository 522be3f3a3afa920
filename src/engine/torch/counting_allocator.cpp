#include "engine/torch/counting_allocator.hpp"

#include "patchbench/base/shape.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace pb::torch_engine {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;  // x86-64

/// Stands before each block, in an alignment unit of its own: a deleter is told the pointer only.
struct Header {
    int64_t bytes;
};
static_assert(sizeof(Header) <= kAlignment);

void* block_of(void* pointer) { return static_cast<std::byte*>(pointer) - kAlignment; }

void free_counted(void* pointer) {
    if (pointer == nullptr) return;
    void* block = block_of(pointer);
    counting_allocator().release(static_cast<Header*>(block)->bytes);
    std::free(block);
}

/// Null when the host has no more. Maps of activations live for one layer: with 4 KiB pages the kernel's page faults
/// cost a tenth of a convolution.
void* make_block(size_t bytes) {
    void* block = nullptr;
    const size_t size = bytes + kAlignment;
    const bool large = size >= 2 * kHugePage;
    if (posix_memalign(&block, large ? kHugePage : kAlignment, size) != 0) return nullptr;
    if (large) (void)madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // advice: may be refused
    static_cast<Header*>(block)->bytes = static_cast<int64_t>(bytes);
    return block;
}

std::string mib(int64_t bytes) {
    return std::to_string(static_cast<int64_t>(static_cast<double>(bytes) / kMiB)) + " MiB";
}

}  // namespace

c10::DataPtr CountingAllocator::allocate(size_t bytes) {
    if (bytes == 0) return {nullptr, nullptr, &free_counted, c10::Device(c10::kCPU)};
    reserve(static_cast<int64_t>(bytes));
    void* block = make_block(bytes);
    if (block == nullptr) {
        release(static_cast<int64_t>(bytes));
        TORCH_CHECK_WITH(OutOfMemoryError, false, "the host has no ", mib(static_cast<int64_t>(bytes)), " more");
    }
    void* pointer = static_cast<std::byte*>(block) + kAlignment;
    return {pointer, pointer, &free_counted, c10::Device(c10::kCPU)};
}

c10::DeleterFnPtr CountingAllocator::raw_deleter() const { return &free_counted; }

void CountingAllocator::copy_data(void* destination, const void* source, std::size_t bytes) const {
    default_copy_data(destination, source, bytes);
}

void CountingAllocator::reserve(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& c = counters_;
    const bool fits = limit_bytes_ == 0 || c.allocated_bytes + bytes <= limit_bytes_;
    TORCH_CHECK_WITH(OutOfMemoryError, fits, mib(c.allocated_bytes), " are held and ", mib(bytes),
                     " more do not fit under the cap of ", mib(limit_bytes_));
    c.allocated_bytes += bytes;
    c.peak_allocated_bytes = std::max(c.peak_allocated_bytes, c.allocated_bytes);
    ++c.num_allocations;
}

void CountingAllocator::release(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    counters_.allocated_bytes -= bytes;
}

AllocatorCounters CountingAllocator::counters() const {
    const std::lock_guard lock(mutex_);
    AllocatorCounters counters = counters_;
    counters.reserved_bytes = counters.allocated_bytes;
    counters.peak_reserved_bytes = counters.peak_allocated_bytes;
    return counters;
}

void CountingAllocator::reset_peaks() {
    const std::lock_guard lock(mutex_);
    counters_.peak_allocated_bytes = counters_.allocated_bytes;
}

void CountingAllocator::set_limit(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = bytes;
}

CountingAllocator& counting_allocator() {
    static CountingAllocator& installed = []() -> CountingAllocator& {
        // Never destroyed: tensors of static lifetime may outlive any order of destruction.
        static auto* allocator = new CountingAllocator;
        constexpr uint8_t kAboveDefault = 100;
        c10::SetCPUAllocator(allocator, kAboveDefault);
        return *allocator;
    }();
    return installed;
}

}  // namespace pb::torch_engine
