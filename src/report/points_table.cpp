#include "report/numbers.hpp"
#include "report/text_table.hpp"

#include "patchbench/report/metrics.hpp"
#include "patchbench/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb {

namespace {

using Summaries = std::vector<Summary>;

std::string status_text(const Summary& summary) {
    if (summary.status != PointStatus::ok) return std::string(name_of(summary.status));
    return summary.validity == Validity::valid ? "ok" : std::string(name_of(summary.validity));
}

bool any_has(const Summaries& summaries, const Metric& metric) {
    return std::any_of(summaries.begin(), summaries.end(), [&](const Summary& s) { return metric.value(s); });
}

std::string cell_of(const Metric& metric, const Summary& summary) {
    const auto value = metric.value(summary);
    if (!value) return "-";
    return metric.cell != nullptr ? metric.cell(summary) : readable(value);
}

/// Whether all points say the same of the `i`-th entry of their context.
bool is_shared(const Summaries& summaries, size_t i) {
    return std::all_of(summaries.begin(), summaries.end(),
                       [&](const Summary& s) { return s.context[i] == summaries.front().context[i]; });
}

std::string shared_context(const Summaries& summaries) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < summaries.front().context.size(); ++i) {
        const auto& [name, text] = summaries.front().context[i];
        if (is_shared(summaries, i)) entries.push_back(fmt::format("{}: {}", name, text));
    }
    return entries.empty() ? "" : fmt::format("{}\n\n", fmt::join(entries, " | "));
}

/// Remarks of the points below the table: equal ones once, with the labels of the points they hold for.
class Remarks {
  public:
    void add(const std::string& remark, const std::string& label) {
        auto known = std::find_if(remarks_.begin(), remarks_.end(), [&](const auto& r) { return r.text == remark; });
        if (known == remarks_.end()) known = remarks_.insert(known, {remark, {}});
        known->labels.push_back(label);
    }

    [[nodiscard]] std::string text(size_t num_points) const {
        std::string all;
        for (const auto& [remark, labels] : remarks_) {
            const bool of_all = labels.size() == num_points && num_points > 1;
            all +=
                fmt::format("  {}: {}\n", of_all ? "all points" : fmt::format("{}", fmt::join(labels, ", ")), remark);
        }
        return all.empty() ? all : "\n" + all;
    }

  private:
    struct Remark {
        std::string text;
        std::vector<std::string> labels;
    };
    std::vector<Remark> remarks_;
};

std::string remarks_of(const Summaries& summaries, const std::vector<std::string>& labels) {
    Remarks remarks;
    for (size_t i = 0; i < summaries.size(); ++i) {
        for (const auto& reason : summaries[i].reasons) remarks.add(reason, labels[i]);
        for (const auto& note : summaries[i].notes) remarks.add(note, labels[i]);
    }
    return remarks.text(summaries.size());
}

}  // namespace

std::string points_table(const Summaries& summaries) {
    if (summaries.empty()) return "no points\n";
    std::vector<const Metric*> shown;
    for (const auto& metric : metrics())
        if (metric.is_headline() && any_has(summaries, metric)) shown.push_back(&metric);

    TextTable table;
    table.add_column("point", TextTable::Align::left);
    std::vector<size_t> varying;
    for (size_t i = 0; i < summaries.front().context.size(); ++i) {
        if (is_shared(summaries, i)) continue;
        varying.push_back(i);
        table.add_column(summaries.front().context[i].first, TextTable::Align::left);
    }
    for (const auto* metric : shown) table.add_column(metric->heading);
    table.add_column("status", TextTable::Align::left);

    const auto labels = unique_labels(summaries);
    for (size_t i = 0; i < summaries.size(); ++i) {
        std::vector<std::string> cells{labels[i]};
        for (const size_t entry : varying) cells.push_back(summaries[i].context[entry].second);
        for (const auto* metric : shown) cells.push_back(cell_of(*metric, summaries[i]));
        cells.push_back(status_text(summaries[i]));
        table.add_row(std::move(cells));
    }
    return shared_context(summaries) + table.text() + remarks_of(summaries, labels);
}

}  // namespace pb
