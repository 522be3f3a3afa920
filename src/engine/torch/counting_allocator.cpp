#include "engine/torch/counting_allocator.hpp"

#include "patchbench/base/shape.hpp"

#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace pb::engine::torch_engine {

namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;  // x86-64

constexpr int64_t kCachedFrom = int64_t{1} << 20;  // malloc reuses smaller blocks well enough

/// Precedes each block, in its own alignment unit: a deleter gets the pointer only.
struct Header {
    int64_t bytes;
};
static_assert(sizeof(Header) <= kAlignment);

void* block_of(void* pointer) { return static_cast<std::byte*>(pointer) - kAlignment; }

void free_counted(void* pointer) {
    if (pointer != nullptr) counting_allocator().release(block_of(pointer));
}

int64_t bytes_of(const void* block) { return static_cast<const Header*>(block)->bytes; }

/// Null when the host has no more.
void* make_block(int64_t bytes) {
    void* block = nullptr;
    const size_t size = static_cast<size_t>(bytes) + kAlignment;
    const bool large = size >= 2 * kHugePage;
    if (posix_memalign(&block, large ? kHugePage : kAlignment, size) != 0) return nullptr;
    if (large) (void)madvise(block, size / kHugePage * kHugePage, MADV_HUGEPAGE);  // only advice: failure is harmless
    static_cast<Header*>(block)->bytes = bytes;
    return block;
}

/// Amounts below 100 MiB have two decimals, since fractions matter under a cap of a few MiB.
std::string mib(int64_t bytes) {
    constexpr double kWholeFrom = 100;
    const double amount = static_cast<double>(bytes) / kMiB;
    std::array<char, 32> text{};
    const auto end =
        std::to_chars(text.begin(), text.end(), amount, std::chars_format::fixed, amount < kWholeFrom ? 2 : 0).ptr;
    return std::string(text.data(), end) + " MiB";
}

}  // namespace

void* BlockCache::take(int64_t bytes) {
    // The newest block first: its values may still be in the processor's caches.
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [bytes](const Entry& entry) { return entry.bytes == bytes; });
    if (found == entries_.rend()) return nullptr;
    void* block = found->block;
    entries_.erase(std::next(found).base());
    held_bytes_ -= bytes;
    return block;
}

void BlockCache::put(void* block, int64_t bytes) {
    entries_.push_back({block, bytes});
    held_bytes_ += bytes;
}

void BlockCache::shrink_to(int64_t bytes) {
    while (held_bytes_ > bytes && !entries_.empty()) {
        std::free(entries_.front().block);
        held_bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
}

c10::DataPtr CountingAllocator::allocate(size_t size) {
    if (size == 0) return {nullptr, nullptr, &free_counted, c10::Device(c10::kCPU)};
    const auto bytes = static_cast<int64_t>(size);
    void* block = reserve(bytes);
    if (block == nullptr) block = make_block(bytes);
    if (block == nullptr) {
        empty_cache();
        block = make_block(bytes);
    }
    if (block == nullptr) {
        const std::lock_guard lock(mutex_);
        counters_.allocated_bytes -= bytes;
        ++num_refused_;
        TORCH_CHECK_WITH(OutOfMemoryError, false, "the host has no ", mib(bytes), " more");
    }
    void* pointer = static_cast<std::byte*>(block) + kAlignment;
    return {pointer, pointer, &free_counted, c10::Device(c10::kCPU)};
}

c10::DeleterFnPtr CountingAllocator::raw_deleter() const { return &free_counted; }

void CountingAllocator::copy_data(void* destination, const void* source, std::size_t bytes) const {
    default_copy_data(destination, source, bytes);
}

/// Counts `bytes` as allocated; returns a kept block of that size, or null.
void* CountingAllocator::reserve(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    auto& c = counters_;
    const bool fits = limit_bytes_ == 0 || c.allocated_bytes + bytes <= limit_bytes_;
    if (!fits) ++num_refused_;
    TORCH_CHECK_WITH(OutOfMemoryError, fits, mib(c.allocated_bytes), " are held and ", mib(bytes),
                     " more do not fit under the cap of ", mib(limit_bytes_));
    c.allocated_bytes += bytes;
    c.peak_allocated_bytes = std::max(c.peak_allocated_bytes, c.allocated_bytes);
    ++c.num_allocations;
    void* block = cache_.take(bytes);
    cache_.shrink_to(c.peak_allocated_bytes - c.allocated_bytes);
    return block;
}

void CountingAllocator::release(void* block) {
    const std::lock_guard lock(mutex_);
    const int64_t bytes = bytes_of(block);
    counters_.allocated_bytes -= bytes;
    if (bytes < kCachedFrom) {
        std::free(block);
        return;
    }
    cache_.put(block, bytes);
    cache_.shrink_to(counters_.peak_allocated_bytes - counters_.allocated_bytes);
}

AllocatorCounters CountingAllocator::counters() const {
    const std::lock_guard lock(mutex_);
    AllocatorCounters counters = counters_;
    counters.reserved_bytes = counters.allocated_bytes + cache_.held_bytes();
    counters.peak_reserved_bytes = counters.peak_allocated_bytes;  // kept blocks never exceed it
    return counters;
}

void CountingAllocator::reset_peaks() {
    const std::lock_guard lock(mutex_);
    cache_.shrink_to(0);
    counters_.peak_allocated_bytes = counters_.allocated_bytes;
}

void CountingAllocator::empty_cache() {
    const std::lock_guard lock(mutex_);
    cache_.shrink_to(0);
}

void CountingAllocator::set_limit(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = bytes;
}

CountingAllocator& counting_allocator() {
    static CountingAllocator& installed = []() -> CountingAllocator& {
        // Never destroyed, because tensors of static lifetime may live until the end of the process.
        static auto* allocator = new CountingAllocator;
        constexpr uint8_t kAboveDefault = 100;
        c10::SetCPUAllocator(allocator, kAboveDefault);
        return *allocator;
    }();
    return installed;
}

}  // namespace pb::engine::torch_engine
