// Writes Chrome trace events, which chrome://tracing and Perfetto draw. Source: "Trace Event Format" (Google, 2016),
// JSON object format: complete events (X) with ts and dur in microseconds, and metadata events (M) for names. A process
// is a rank on its host and a thread is a stage. The points of a study follow one another, and a separate thread shows
// their names.
#include "report/export/exports.hpp"
#include "report/results/json_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pb::report {

namespace {

constexpr double kTraceUsPerS = 1e6;
constexpr int kPointThread = 0;  // the threads of the stages follow

int thread_of(record::Stage stage) { return static_cast<int>(stage) + 1; }

record::Json metadata(const char* kind, int process, int thread, record::Json arguments) {
    return {{"name", kind}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", std::move(arguments)}};
}

record::Json complete(std::string_view name, int process, int thread, double begin_s, double end_s) {
    return {{"name", name},
            {"ph", "X"},
            {"pid", process},
            {"tid", thread},
            {"ts", begin_s * kTraceUsPerS},
            {"dur", (end_s - begin_s) * kTraceUsPerS}};
}

class ChromeTrace {
  public:
    void add(const NamedPoint& point) {
        double end_s = 0;
        for (const auto& rank : point.trace().ranks)
            if (!rank.timeline.spans.empty()) end_s = std::max(end_s, add_rank(rank, point.name()));
        constexpr double kGap = 1.05;  // a gap that keeps points apart
        origin_s_ += end_s * kGap;
    }

    [[nodiscard]] std::string text() const {
        record::Json events = record::Json::array();
        for (const auto& [place, process] : processes_) {
            const auto& [rank, host] = place;
            events.push_back(metadata("process_name", process, 0, {{"name", fmt::format("rank {}@{}", rank, host)}}));
            events.push_back(metadata("process_sort_index", process, 0, {{"sort_index", rank}}));
            events.push_back(metadata("thread_name", process, kPointThread, {{"name", "point"}}));
            for (const auto& [stage, name] : enum_table<record::Stage>())
                events.push_back(metadata("thread_name", process, thread_of(stage), {{"name", name}}));
        }
        for (const auto& event : events_) events.push_back(event);
        return json_text({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}});
    }

  private:
    /// Returns the end time of the rank's last span.
    double add_rank(const record::RankTrace& rank, const std::string& point) {
        const auto number = static_cast<int>(processes_.size());
        const int process = processes_.try_emplace({rank.rank, rank.host}, number).first->second;
        const auto& [spans, num_dropped, clock_error_s, of] = rank.timeline;
        double begin_s = HUGE_VAL, end_s = 0;
        for (const record::Span& span : spans) {
            if (!(span.end_s >= span.begin_s)) continue;  // the file is damaged
            begin_s = std::min(begin_s, span.begin_s);
            end_s = std::max(end_s, span.end_s);
            record::Json event = complete(name_of(span.stage), process, thread_of(span.stage), origin_s_ + span.begin_s,
                                          origin_s_ + span.end_s);
            if (span.batch >= 0) event["args"] = {{"batch", span.batch}};
            events_.push_back(std::move(event));
        }
        if (begin_s > end_s) return 0;
        record::Json whole = complete(point, process, kPointThread, origin_s_ + begin_s, origin_s_ + end_s);
        whole["args"] = {{"spans_left_out", num_dropped}, {"clock_error_us", clock_error_s * kTraceUsPerS}};
        events_.push_back(std::move(whole));
        return end_s;
    }

    double origin_s_ = 0;                                   // start of the next point
    std::map<std::pair<int, std::string>, int> processes_;  // by rank and host: their numbers
    std::vector<record::Json> events_;
};

}  // namespace

std::string chrome_text(std::span<const ResultsFile> files) {
    ChromeTrace trace;
    for (const auto& point : named_points(files)) trace.add(point);
    return trace.text();
}

}  // namespace pb::report
