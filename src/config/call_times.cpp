#include "config/call_times.hpp"

#include "base/text.hpp"
#include "config/text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace pb::config {

namespace {

[[noreturn]] void refuse_table(const TimedSettings& settings, const std::string& why) {
    const std::string& table = settings.table;
    if (!settings.results.empty())
        throw UsageError("timed.results = " + settings.results + " gives timed.table = " + table + ": " + why +
                         "; name results that measured these batches, or write timed.table without timed.results");
    throw UsageError("timed.table = " + table + ": " + why + "; write it as in 1:0.012,4:0.03 (batch:seconds)");
}

CallTime parse_entry(const TimedSettings& settings, std::string_view entry) {
    const auto colon = entry.find(':');
    if (colon == std::string_view::npos) refuse_table(settings, "'" + std::string(entry) + "' has no ':'");
    CallTime time;
    try {
        parse_setting(entry.substr(0, colon), time.batch);
        parse_setting(entry.substr(colon + 1), time.seconds);
    } catch (const UsageError& error) {
        refuse_table(settings, error.what());
    }
    if (time.batch < 1 || time.seconds < 0 || time.seconds > kMaxSeconds)
        refuse_table(settings, "'" + std::string(entry) + "' is out of range");
    return time;
}

std::vector<CallTime> parse_table(const TimedSettings& settings) {
    std::vector<CallTime> times;
    for (const std::string_view entry : split(settings.table, ",")) {
        times.push_back(parse_entry(settings, entry));
        if (times.size() > 1 && times.back().batch <= times[times.size() - 2].batch)
            refuse_table(settings, "batches must ascend");
    }
    return times;
}

}  // namespace

CallTimes::CallTimes(const TimedSettings& settings) : settings_(settings), table_(parse_table(settings)) {}

double CallTimes::seconds(int64_t batch) const {
    if (table_.empty()) return settings_.base_s + settings_.per_window_s * static_cast<double>(batch);
    const auto above = std::ranges::find_if(table_, [&](const CallTime& t) { return t.batch >= batch; });
    if (above == table_.end())
        refuse_table(settings_,
                     fmt::format("it ends at batch {} and says nothing of batch {}", table_.back().batch, batch));
    if (above == table_.begin()) return above->seconds;
    const auto below = above - 1;
    const double part = static_cast<double>(batch - below->batch) / static_cast<double>(above->batch - below->batch);
    return below->seconds + part * (above->seconds - below->seconds);
}

std::string CallTimes::formula() const {
    if (!table_.empty()) return "table " + settings_.table;
    return format_setting(settings_.base_s) + " s + " + format_setting(settings_.per_window_s) + " s b";
}

std::string call_table(std::vector<CallTime> times) {
    std::ranges::sort(times, {}, &CallTime::batch);
    std::string table;
    for (const CallTime& time : times)
        add_item(table, format_setting(time.batch) + ":" + format_setting(time.seconds), ",");
    return table;
}

}  // namespace pb::config
