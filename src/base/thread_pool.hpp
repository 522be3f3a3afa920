// Threads that share the items of one loop after another. OpenMP is not used: LibTorch brings a runtime of its own.
#pragma once

#include "patchbench/base/shape.hpp"

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace pb {

/// Not thread-safe: one loop at a time.
class ThreadPool {
  public:
    /// `thread`: 0 to size() - 1; 0 is the caller. Must not throw.
    using Work = std::function<void(Range share, int thread)>;

    /// Starts size - 1 threads, with the processors of the calling one. Throws Error when the system starts no more.
    explicit ThreadPool(int size);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] int size() const { return static_cast<int>(threads_.size()) + 1; }

    /// Calls `work` on every thread with its share of [0, count), which may be empty, and returns when all are done.
    void run(int64_t count, const Work& work);

  private:
    void serve(int thread);
    void end();

    const Work* work_ = nullptr;  // null: the threads end
    int64_t count_ = 0;
    std::atomic<uint64_t> round_ = 0;  // a new one begins when work_ and count_ are set
    std::atomic<int> num_busy_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace pb
