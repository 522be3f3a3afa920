// Memory of the fake devices and pinned memory: pages of their own, whose protection follows from what is in flight.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace pb::fakes {

enum class Place { device, pinned };

struct Allocation {
    Place place = Place::device;
    int device = 0;
    int number = 0;  // in the order of allocation
    std::byte* begin = nullptr;
    size_t bytes = 0;
    bool is_live = true;
    int pending_reads = 0, pending_writes = 0;  // by work in flight
    int protection = 0;                         // PROT_*

    [[nodiscard]] std::string name() const;
    /// Whole pages, with those before and behind that nothing may touch.
    [[nodiscard]] std::byte* first_page() const;
    [[nodiscard]] size_t mapped_bytes() const;

    /// What the host may do: nothing in device memory, in pinned memory what does not meet work in flight.
    void protect_from_host();
    /// What work may do while it runs.
    void open();
    /// Refuses where something was written behind the end.
    void check_end() const;

  private:
    void protect(int wanted);
};

/// Freed memory stays mapped and forbidden, so that its use is seen.
class Allocations {
  public:
    Allocations() = default;
    ~Allocations();
    Allocations(const Allocations&) = delete;
    Allocations& operator=(const Allocations&) = delete;

    [[nodiscard]] Allocation& add(Place place, int device, size_t bytes);
    void release(void* pointer, Place place);
    /// The allocation in whose pages `pointer` lies, freed or not; null for other memory.
    [[nodiscard]] Allocation* find(const void* pointer);
    [[nodiscard]] size_t live_bytes(Place place, int device) const;
    /// The first that is not freed; null when all are.
    [[nodiscard]] const Allocation* find_live() const;

  private:
    std::map<const std::byte*, Allocation> by_first_page_;
    int num_made_ = 0;
};

}  // namespace pb::fakes
