#include "allocations.hpp"

#include "refuse.hpp"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace pb::fakes {
namespace {

constexpr size_t kPage = 4096;

/// NaN as f32 (0x7FF5A5A5), and as f16 and bf16 in every second value.
constexpr std::array<uint8_t, 4> kPoison{0xA5, 0xA5, 0xF5, 0x7F};

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

void poison(std::byte* begin, size_t bytes) {
    for (size_t i = 0; i < std::min(bytes, kPage); ++i) begin[i] = static_cast<std::byte>(kPoison[i % kPoison.size()]);
    for (size_t done = kPage; done < bytes; done += kPage)
        std::memcpy(begin + done, begin, std::min(kPage, bytes - done));
}

}  // namespace

std::string Allocation::name() const {
    return (place == Place::pinned ? "pinned memory #" : "memory of device " + std::to_string(device) + " #") +
           std::to_string(number) + " (" + std::to_string(bytes) + " bytes)";
}

std::byte* Allocation::first_page() const { return begin - kPage; }
size_t Allocation::mapped_bytes() const { return whole_pages(bytes) + 2 * kPage; }

void Allocation::protect(int wanted) {
    if (wanted == protection) return;
    if (mprotect(begin, whole_pages(bytes), wanted) != 0) refuse("mprotect failed");
    protection = wanted;
}

void Allocation::protect_from_host() {
    const bool is_forbidden = !is_live || place == Place::device || pending_writes > 0;
    protect(is_forbidden ? PROT_NONE : pending_reads > 0 ? PROT_READ : PROT_READ | PROT_WRITE);
}

void Allocation::open() { protect(PROT_READ | PROT_WRITE); }

void Allocation::check_end() const {
    for (size_t i = bytes; i < whole_pages(bytes); ++i)
        if (begin[i] != static_cast<std::byte>(kPoison[i % kPoison.size()]))
            refuse("beyond the end: " + name() + " was written " + std::to_string(i - bytes) + " bytes behind its end");
}

Allocations::~Allocations() {
    for (const auto& [page, allocation] : by_first_page_) munmap(allocation.first_page(), allocation.mapped_bytes());
}

Allocation& Allocations::add(Place place, int device, size_t bytes) {
    Allocation made;
    made.place = place;
    made.device = device;
    made.number = ++num_made_;
    made.bytes = bytes;
    void* const pages = mmap(nullptr, made.mapped_bytes(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) refuse("this machine has no " + std::to_string(bytes) + " bytes");
    made.begin = static_cast<std::byte*>(pages) + kPage;
    made.open();
    poison(made.begin, whole_pages(bytes));
    ASAN_POISON_MEMORY_REGION(made.begin + bytes, whole_pages(bytes) - bytes);
    made.protect_from_host();
    return by_first_page_.emplace(made.first_page(), made).first->second;
}

void Allocations::release(void* pointer, Place place) {
    Allocation* const allocation = find(pointer);
    if (allocation == nullptr || allocation->begin != pointer) refuse("free of memory that was never allocated");
    if (!allocation->is_live) refuse("double free: " + allocation->name());
    if (allocation->place != place) refuse("free by the other kind's function: " + allocation->name());
    ASAN_UNPOISON_MEMORY_REGION(allocation->begin, whole_pages(allocation->bytes));
    allocation->open();
    allocation->check_end();
    allocation->is_live = false;
    allocation->protect_from_host();
    (void)madvise(allocation->begin, whole_pages(allocation->bytes), MADV_DONTNEED);
}

Allocation* Allocations::find(const void* pointer) {
    const auto* const address = static_cast<const std::byte*>(pointer);
    auto after = by_first_page_.upper_bound(address);
    if (after == by_first_page_.begin()) return nullptr;
    Allocation& allocation = std::prev(after)->second;
    return address < allocation.first_page() + allocation.mapped_bytes() ? &allocation : nullptr;
}

size_t Allocations::live_bytes(Place place, int device) const {
    size_t bytes = 0;
    for (const auto& [page, allocation] : by_first_page_)
        if (allocation.is_live && allocation.place == place && allocation.device == device) bytes += allocation.bytes;
    return bytes;
}

const Allocation* Allocations::find_live() const {
    for (const auto& [page, allocation] : by_first_page_)
        if (allocation.is_live) return &allocation;
    return nullptr;
}

}  // namespace pb::fakes
