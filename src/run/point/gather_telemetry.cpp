#include "run/point/gather_telemetry.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace pb {

namespace {

// A record travels as numbers, in the order of these two functions; NaN stands for what is absent.
double packed(const std::optional<double>& value) { return value.value_or(std::numeric_limits<double>::quiet_NaN()); }

std::optional<double> unpacked(double number) { return std::isnan(number) ? std::nullopt : std::optional(number); }

/// Rows of all ranks are equally long: that of a rank with fewer samples is filled up.
std::vector<double> pack(const TelemetryRecord& record, size_t num_samples) {
    std::vector<double> row{record.first_on_node ? 1.0 : 0.0, static_cast<double>(record.samples.size())};
    for (const auto& meter : record.meters) row.push_back(packed(meter));
    for (const auto& sample : record.samples) {
        row.push_back(sample.at_s);
        for (const auto& gauge : sample.gauges) row.push_back(packed(gauge));
    }
    row.resize(2 + kNumMeters + num_samples * (1 + kNumGauges));
    return row;
}

TelemetryRecord unpack(const std::vector<double>& row) {
    TelemetryRecord record;
    auto next = row.begin();
    record.first_on_node = *next++ != 0;
    record.samples.resize(static_cast<size_t>(*next++));
    for (auto& meter : record.meters) meter = unpacked(*next++);
    for (auto& sample : record.samples) {
        sample.at_s = *next++;
        for (auto& gauge : sample.gauges) gauge = unpacked(*next++);
    }
    return record;
}

}  // namespace

void gather_telemetry(MetricReduction& reduction, const TelemetryRecord& mine, std::vector<RankTrace>& ranks) {
    const double longest = reduction.max(std::array{static_cast<double>(mine.samples.size())}).front();
    const auto rows = reduction.all_gather(pack(mine, static_cast<size_t>(longest)));
    for (size_t rank = 0; rank < rows.size(); ++rank) ranks.at(rank).telemetry = unpack(rows[rank]);
}

}  // namespace pb
