// The streams' queues and the order in which their work runs.
#pragma once

#include "allocations.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace pb::fakes {

struct Queue;

/// One cudaEventRecord.
struct Record {
    const Queue* queue = nullptr;  // that will reach it
    bool is_reached = false;
    std::chrono::steady_clock::time_point time;
};

struct EventState {
    int device = 0;
    int number = 0;
    bool is_live = true;
    std::shared_ptr<Record> latest;  // none: never recorded
};

/// A part of an allocation that a piece of work reads or writes.
struct Access {
    Allocation* allocation = nullptr;
    const std::byte* begin = nullptr;
    size_t bytes = 0;
    bool writes = false;
};

struct Operation {
    std::string what;
    std::vector<Access> accesses;
    std::function<void()> run;
    std::shared_ptr<Record> waits_for;  // none: ready when its turn comes
    int64_t number = 0;                 // in the order in which the program gave it
};

struct Queue {
    int device = 0;
    int number = 0;
    bool is_live = true;
    uint64_t rank = 0;  // by chance: who goes first where one stream is favoured
    std::deque<Operation> pending;
};

class Queues {
  public:
    explicit Queues(uint64_t seed);

    [[nodiscard]] Queue& add(int device);
    void enqueue(Queue& queue, Operation operation);
    /// Runs some work, or none, as chance will have it.
    void idle();
    /// Runs work until `record` is reached.
    void run_until(const std::shared_ptr<Record>& record);
    void run_all(Queue& queue);
    void run_all_of_device(int device);

    /// "copy to the device (#12, stream 1)" of work in flight on `allocation` that writes it (`writers`) or reads it;
    /// empty for none.
    [[nodiscard]] std::string pending_on(const Allocation& allocation, bool writers) const;
    [[nodiscard]] const Operation* running() const { return running_; }
    [[nodiscard]] int most_busy() const { return most_busy_; }
    [[nodiscard]] const std::deque<Queue>& queues() const { return queues_; }
    [[nodiscard]] Queue* find(const void* handle);

  private:
    /// How work is chosen where several streams are ready.
    enum class Order { uniform, favour_one_stream, only_what_is_needed };

    [[nodiscard]] std::vector<Queue*> ready();
    [[nodiscard]] Queue& choose(const Queue* wanted);
    [[nodiscard]] Queue& first_needed(const Queue& wanted);
    void run_front(Queue& queue);
    void refuse_overtaking(const Operation& operation, const Queue& queue) const;
    void count_busy();
    [[nodiscard]] bool by_chance(double probability);

    std::mt19937_64 random_;
    Order order_;
    double eagerness_;  // chance that a piece of work runs before somebody waits for it
    std::deque<Queue> queues_;
    int64_t num_operations_ = 0;
    int most_busy_ = 0;
    const Operation* running_ = nullptr;
};

}  // namespace pb::fakes
