#include "engine/counting_memory.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

namespace pb::engine {

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
    return fmt::format("{:.{}f} MiB", amount, amount < kWholeFrom ? 2 : 0);
}

}  // namespace

void* FreeBlocks::take(int64_t bytes) {
    // The newest block first: its values may still be in the processor's caches.
    const auto found =
        std::find_if(entries_.rbegin(), entries_.rend(), [bytes](const Entry& entry) { return entry.bytes == bytes; });
    if (found == entries_.rend()) return nullptr;
    void* block = found->block;
    entries_.erase(std::next(found).base());
    held_bytes_ -= bytes;
    return block;
}

void FreeBlocks::put(void* block, int64_t bytes) {
    entries_.push_back({block, bytes});
    held_bytes_ += bytes;
}

void FreeBlocks::shrink_to(int64_t bytes) {
    while (held_bytes_ > bytes && !entries_.empty()) {
        std::free(entries_.front().block);
        held_bytes_ -= entries_.front().bytes;
        entries_.pop_front();
    }
}

void* CountingMemory::allocate(size_t size) {
    if (size == 0) return nullptr;
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
        throw OutOfMemory(fmt::format("the host has no {} more", mib(bytes)));
    }
    {
        const std::lock_guard lock(mutex_);
        count_allocation();
    }
    return static_cast<std::byte*>(block) + kAlignment;
}

/// Counts `bytes` as allocated, under the lock: the cap holds also for blocks that other threads are making.
void CountingMemory::add(int64_t bytes) {
    auto& c = counters_;
    const bool fits = limit_bytes_ == 0 || c.allocated_bytes + bytes <= limit_bytes_;
    if (!fits) {
        ++num_refused_;
        throw OutOfMemory(fmt::format("{} are held and {} more do not fit under the cap of {}", mib(c.allocated_bytes),
                                      mib(bytes), mib(limit_bytes_)));
    }
    c.allocated_bytes += bytes;
}

/// Takes what was added into the peak, under the lock, once the memory is there.
void CountingMemory::count_allocation() {
    counters_.peak_allocated_bytes = std::max(counters_.peak_allocated_bytes, counters_.allocated_bytes);
    ++counters_.num_allocations;
}

/// Counts `bytes` as allocated; returns a kept block of that size, or null.
void* CountingMemory::reserve(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    add(bytes);
    void* block = cache_.take(bytes);
    cache_.shrink_to(std::max(int64_t{0}, counters_.peak_allocated_bytes - counters_.allocated_bytes));
    return block;
}

void CountingMemory::count(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    add(bytes);
    count_allocation();
    cache_.shrink_to(counters_.peak_allocated_bytes - counters_.allocated_bytes);
}

void CountingMemory::discount(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    counters_.allocated_bytes -= bytes;
}

void CountingMemory::release(void* pointer) {
    if (pointer == nullptr) return;
    void* block = block_of(pointer);
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

AllocatorCounters CountingMemory::counters() const {
    const std::lock_guard lock(mutex_);
    AllocatorCounters counters = counters_;
    counters.reserved_bytes = counters.allocated_bytes + cache_.held_bytes();
    counters.peak_reserved_bytes = counters.peak_allocated_bytes;  // kept blocks never exceed it
    return counters;
}

void CountingMemory::reset_peaks() {
    const std::lock_guard lock(mutex_);
    cache_.shrink_to(0);
    counters_.peak_allocated_bytes = counters_.allocated_bytes;
}

void CountingMemory::empty_cache() {
    const std::lock_guard lock(mutex_);
    cache_.shrink_to(0);
}

void CountingMemory::set_limit(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    limit_bytes_ = bytes;
}

}  // namespace pb::engine
