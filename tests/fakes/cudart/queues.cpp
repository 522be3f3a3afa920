#include "queues.hpp"

#include "refuse.hpp"

#include <algorithm>
#include <array>

namespace pb::fakes {
namespace {

bool conflict(const Access& one, const Access& other) {
    return (one.writes || other.writes) && one.begin < other.begin + other.bytes && other.begin < one.begin + one.bytes;
}

std::string described(const Operation& operation, const Queue& queue) {
    return operation.what + " (#" + std::to_string(operation.number) + ", stream " + std::to_string(queue.number) + ")";
}

}  // namespace

Queues::Queues(uint64_t seed) : random_(seed) {
    constexpr std::array kOrders{Order::uniform, Order::favour_one_stream, Order::only_what_is_needed};
    constexpr std::array kEagerness{0.0, 0.3, 0.7, 0.95};
    order_ = kOrders[random_() % kOrders.size()];
    eagerness_ = kEagerness[random_() % kEagerness.size()];
}

bool Queues::by_chance(double probability) { return std::uniform_real_distribution(0.0, 1.0)(random_) < probability; }

Queue& Queues::add(int device) {
    Queue& queue = queues_.emplace_back();
    queue.device = device;
    queue.number = static_cast<int>(queues_.size());
    queue.rank = random_();
    return queue;
}

Queue* Queues::find(const void* handle) {
    const auto found = std::ranges::find_if(queues_, [&](const Queue& queue) { return &queue == handle; });
    return found == queues_.end() ? nullptr : &*found;
}

void Queues::enqueue(Queue& queue, Operation operation) {
    operation.number = ++num_operations_;
    for (const Access& access : operation.accesses) {
        ++(access.writes ? access.allocation->pending_writes : access.allocation->pending_reads);
        access.allocation->protect_from_host();
    }
    queue.pending.push_back(std::move(operation));
    count_busy();
    idle();
}

void Queues::count_busy() {
    const auto is_busy = [](const Queue& queue) {
        return std::ranges::any_of(queue.pending,
                                   [](const Operation& operation) { return !operation.accesses.empty(); });
    };
    most_busy_ = std::max(most_busy_, static_cast<int>(std::ranges::count_if(queues_, is_busy)));
}

std::vector<Queue*> Queues::ready() {
    std::vector<Queue*> found;
    for (Queue& queue : queues_) {
        if (queue.pending.empty()) continue;
        const auto& awaited = queue.pending.front().waits_for;
        if (awaited == nullptr || awaited->is_reached) found.push_back(&queue);
    }
    return found;
}

/// The stream on which something must run before `wanted` can go on.
Queue& Queues::first_needed(const Queue& wanted) {
    const auto& awaited = wanted.pending.front().waits_for;
    return awaited == nullptr || awaited->is_reached ? *find(&wanted) : first_needed(*awaited->queue);
}

Queue& Queues::choose(const Queue* wanted) {
    if (wanted != nullptr && order_ == Order::only_what_is_needed) return first_needed(*wanted);
    const std::vector<Queue*> candidates = ready();
    if (order_ == Order::favour_one_stream) return **std::ranges::max_element(candidates, {}, &Queue::rank);
    return *candidates[random_() % candidates.size()];
}

void Queues::idle() {
    while (by_chance(eagerness_) && !ready().empty()) run_front(choose(nullptr));
}

void Queues::run_until(const std::shared_ptr<Record>& record) {
    while (!record->is_reached) run_front(choose(record->queue));
}

void Queues::run_all(Queue& queue) {
    while (!queue.pending.empty()) run_front(choose(&queue));
}

void Queues::run_all_of_device(int device) {
    for (Queue& queue : queues_)
        if (queue.device == device) run_all(queue);
}

void Queues::run_front(Queue& queue) {
    const Operation operation = std::move(queue.pending.front());
    queue.pending.pop_front();
    refuse_overtaking(operation, queue);
    for (const Access& access : operation.accesses) access.allocation->open();
    running_ = &operation;
    if (operation.run) operation.run();
    running_ = nullptr;
    for (const Access& access : operation.accesses) {
        --(access.writes ? access.allocation->pending_writes : access.allocation->pending_reads);
        access.allocation->protect_from_host();
    }
}

/// Work on the same memory runs in the order in which the program gave it, or the program forgot to order it.
void Queues::refuse_overtaking(const Operation& operation, const Queue& queue) const {
    for (const Queue& other : queues_)
        for (const Operation& earlier : other.pending)
            for (const Access& before : earlier.accesses)
                for (const Access& access : operation.accesses)
                    if (earlier.number < operation.number && conflict(before, access))
                        refuse("overtaking: " + described(operation, queue) + (access.writes ? " writes " : " reads ") +
                               access.allocation->name() + ", which " + described(earlier, other) + " has still to " +
                               (before.writes ? "write" : "read") + ": no event orders them");
}

std::string Queues::pending_on(const Allocation& allocation, bool writers) const {
    for (const Queue& queue : queues_)
        for (const Operation& operation : queue.pending)
            for (const Access& access : operation.accesses)
                if (access.allocation == &allocation && access.writes == writers) return described(operation, queue);
    return {};
}

}  // namespace pb::fakes
