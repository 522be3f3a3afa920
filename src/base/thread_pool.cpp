#include "base/thread_pool.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <system_error>

namespace pb {

ThreadPool::ThreadPool(int size) {
    try {
        for (int thread = 1; thread < size; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
    } catch (const std::system_error& error) {
        const int started = this->size();
        end();
        throw Error(
            fmt::format("threads: {} of {} could be started ({}); take fewer, or raise the limit on processes "
                        "(ulimit -u, the pids limit of a container)",
                        started, size, error.what()));
    }
}

ThreadPool::~ThreadPool() { end(); }

void ThreadPool::end() {
    work_ = nullptr;
    ++round_;
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(int64_t count, const Work& work) {
    if (threads_.empty()) return work({0, count}, 0);
    work_ = &work;
    count_ = count;
    num_busy_ = static_cast<int>(threads_.size());
    ++round_;
    round_.notify_all();
    work(shard(count, 0, size()), 0);
    for (int busy = num_busy_; busy > 0; busy = num_busy_) num_busy_.wait(busy);
}

void ThreadPool::serve(int thread) {
    for (uint64_t seen = 0;;) {
        round_.wait(seen);
        seen = round_;
        if (work_ == nullptr) return;
        (*work_)(shard(count_, thread, size()), thread);
        if (--num_busy_ == 0) num_busy_.notify_one();
    }
}

}  // namespace pb
