// The record of a pass: the seconds of its stages and, on request, when each piece of work was done.
#pragma once

#include "base/stopwatch.hpp"
#include "record/rank.hpp"

#include <cstddef>
#include <vector>

namespace pb::run {

/// The first spans of a pass. Its memory is allocated in advance, so that adding a span does not allocate. Times are
/// seconds of this host's monotonic clock.
class SpanLog {
  public:
    explicit SpanLog(int64_t capacity) : capacity_(static_cast<size_t>(capacity)) { spans_.reserve(capacity_); }

    void clear() {
        spans_.clear();
        num_dropped_ = 0;
    }
    void add(const record::Span& span) {
        if (is_full())
            ++num_dropped_;
        else
            spans_.push_back(span);
    }
    [[nodiscard]] bool is_full() const { return spans_.size() == capacity_; }
    [[nodiscard]] const std::vector<record::Span>& spans() const { return spans_; }
    [[nodiscard]] int64_t num_dropped() const { return num_dropped_; }

  private:
    size_t capacity_;
    std::vector<record::Span> spans_;
    int64_t num_dropped_ = 0;
};

struct PassLog {
    record::StageSeconds stages{};
    SpanLog* spans = nullptr;  // null: only the sums are recorded
};

/// Adds a piece of work to the sums of a pass, and to its spans if they are recorded.
inline void add(PassLog& log, const record::Span& span) {
    log.stages[span.stage] += span.end_s - span.begin_s;
    if (log.spans != nullptr) log.spans->add(span);
}

/// Times the host's stages of one batch, one after another.
class StageWatch {
  public:
    StageWatch(PassLog& log, int64_t batch) : log_(log), batch_(batch) {}
    /// Counts the time since construction or the last call as `stage`.
    void done(record::Stage stage) {
        const double now_s = monotonic_seconds();
        add(log_, {stage, batch_, begin_s_, now_s});
        begin_s_ = now_s;
    }

  private:
    PassLog& log_;
    int64_t batch_;
    double begin_s_ = monotonic_seconds();
};

}  // namespace pb::run
