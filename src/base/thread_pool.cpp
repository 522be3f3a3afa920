#include "base/thread_pool.hpp"

namespace pb {

ThreadPool::ThreadPool(int size) {
    for (int thread = 1; thread < size; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
}

ThreadPool::~ThreadPool() {
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
