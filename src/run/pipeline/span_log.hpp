// What a pass writes down: the seconds of its stages and, where asked, when each piece of work was done.
#pragma once

#include "run/trace.hpp"

#include <cstddef>
#include <vector>

namespace pb {

/// The first spans of a pass, in a place that is made before it: adding allocates nothing. Times are seconds of this
/// host's monotonic clock.
class SpanLog {
  public:
    explicit SpanLog(int64_t capacity) : capacity_(static_cast<size_t>(capacity)) { spans_.reserve(capacity_); }

    void clear() {
        spans_.clear();
        num_dropped_ = 0;
    }
    void add(const Span& span) {
        if (is_full())
            ++num_dropped_;
        else
            spans_.push_back(span);
    }
    [[nodiscard]] bool is_full() const { return spans_.size() == capacity_; }
    [[nodiscard]] const std::vector<Span>& spans() const { return spans_; }
    [[nodiscard]] int64_t num_dropped() const { return num_dropped_; }

  private:
    size_t capacity_;
    std::vector<Span> spans_;
    int64_t num_dropped_ = 0;
};

struct PassLog {
    StageSeconds stages{};
    SpanLog* spans = nullptr;  // null: only the sums are kept
};

}  // namespace pb
