#include "run/pipeline/batch_queue.hpp"

#include "run/agreement.hpp"

#include <algorithm>
#include <utility>

namespace pb::run {

BatchQueue::BatchQueue(std::vector<Range> batches) : batches_(std::move(batches)) {
    taken_.reserve(batches_.size());  // so that a pass does not allocate
}

BatchQueue::BatchQueue(std::vector<Range> batches, const comm::Communicator& ranks, bool ask_early)
    : BatchQueue(std::move(batches)) {
    if (const auto obstacle = comm::shared_counter_obstacle(ranks)) throw AgreedError(*obstacle, ExitCode::usage);
    counter_ = std::make_unique<comm::SharedCounter>(ranks);
    ask_early_ = ask_early;
}

void BatchQueue::begin_pass() {
    if (listener_ != nullptr) listener_->begin(Activity::network);
    taken_.clear();
    reports_steps_ = false;
    if (counter_) counter_->reset();
}

void BatchQueue::report_step(int64_t done, int64_t all) {
    reports_steps_ = true;
    if (listener_ != nullptr) listener_->advance(done, all);
}

std::optional<Range> BatchQueue::next() {
    const size_t index = next_index();
    if (listener_ != nullptr && !reports_steps_)
        listener_->advance(static_cast<int64_t>(std::min(index, batches_.size())), std::ssize(batches_));
    if (index >= batches_.size()) return std::nullopt;
    if (counter_ && ask_early_) counter_->request();
    return taken_.emplace_back(batches_[index]);
}

size_t BatchQueue::next_index() { return counter_ ? static_cast<size_t>(counter_->take()) : taken_.size(); }

std::vector<Range> joined_runs(std::vector<Range> runs) {
    std::ranges::sort(runs, {}, &Range::begin);
    std::vector<Range> joined;
    for (const Range& run : runs)
        if (!joined.empty() && joined.back().end == run.begin)
            joined.back().end = run.end;
        else
            joined.push_back(run);
    return joined;
}

}  // namespace pb::run
