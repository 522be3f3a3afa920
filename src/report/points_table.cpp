#include "report/points_table.hpp"

#include "report/metrics.hpp"
#include "report/numbers.hpp"
#include "report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace pb::report {

namespace {

using Summaries = std::vector<measure::Summary>;

using Recommendations = std::vector<measure::Recommendation>;

std::string star_of(const measure::Summary& summary, const Recommendations& recommendations) {
    const bool is_taken = std::any_of(recommendations.begin(), recommendations.end(),
                                      [&](const auto& each) { return each.point == summary.index; });
    return is_taken ? std::string(" ") + kStar : "";
}

std::string status_text(const measure::Summary& summary) {
    if (summary.status != record::PointStatus::ok) return std::string(name_of(summary.status));
    if (summary.simulated && summary.validity == measure::Validity::valid) return "simulated";
    return summary.validity == measure::Validity::valid ? "ok" : std::string(name_of(summary.validity));
}

bool any_has(const Summaries& summaries, const Metric& metric) {
    return std::any_of(summaries.begin(), summaries.end(), [&](const measure::Summary& s) { return metric.value(s); });
}

std::string cell_of(const Metric& metric, const measure::Summary& summary) {
    const auto value = metric.value(summary);
    if (!value) return "-";
    return metric.cell != nullptr ? metric.cell(summary) : readable(value);
}

/// Returns the `i`-th entry of a point's context. Some points of a file may have fewer entries.
std::string context_text(const measure::Summary& summary, size_t i) {
    return i < summary.context.size() ? summary.context[i].second : "";
}

/// True when the `i`-th entry of the context is the same for all points.
bool is_shared(const Summaries& summaries, size_t i) {
    return std::all_of(summaries.begin(), summaries.end(), [&](const measure::Summary& summary) {
        return context_text(summary, i) == context_text(summaries.front(), i);
    });
}

std::string shared_context(const Summaries& summaries) {
    std::vector<std::string> entries;
    for (size_t i = 0; i < summaries.front().context.size(); ++i) {
        const auto& [name, text] = summaries.front().context[i];
        if (is_shared(summaries, i)) entries.push_back(fmt::format("{}: {}", name, text));
    }
    return fmt::format("{}", fmt::join(entries, " | "));
}

/// Collects the remarks below the table. Equal remarks appear once, with the labels of their points.
class Remarks {
  public:
    void add(const std::string& remark, const std::string& label) {
        auto known = std::find_if(remarks_.begin(), remarks_.end(), [&](const auto& r) { return r.text == remark; });
        if (known == remarks_.end()) known = remarks_.insert(known, {remark, {}});
        known->labels.push_back(label);
    }

    [[nodiscard]] std::vector<std::string> lines(size_t num_points) const {
        std::vector<std::string> all;
        for (const auto& [remark, labels] : remarks_) {
            const bool of_all = labels.size() == num_points && num_points > 1;
            all.push_back(fmt::format("{}: {}", of_all ? "all points" : few_names(labels), remark));
        }
        return all;
    }

  private:
    struct Remark {
        std::string text;
        std::vector<std::string> labels;
    };
    std::vector<Remark> remarks_;
};

std::vector<std::string> remarks_of(const Summaries& summaries, const std::vector<std::string>& labels) {
    Remarks remarks;
    for (size_t i = 0; i < summaries.size(); ++i) {
        for (const auto& reason : summaries[i].reasons) remarks.add(reason, labels[i]);
        for (const auto& note : summaries[i].notes) remarks.add(note, labels[i]);
    }
    return remarks.lines(summaries.size());
}

/// Returns the points that `limit` limits, the evidence for the clearest case, and what to try. Nothing when there are
/// none.
std::optional<PointsTable::Limited> limited_by(measure::Limit limit, const Summaries& summaries,
                                               const std::vector<std::string>& labels) {
    std::vector<std::string> points;
    std::string clearest;
    const measure::Bottleneck* found = nullptr;
    for (size_t i = 0; i < summaries.size(); ++i) {
        const auto& bottleneck = summaries[i].bottleneck;
        if (!bottleneck || bottleneck->limit != limit) continue;
        points.push_back(labels[i]);
        if (found != nullptr && found->share >= bottleneck->share) continue;
        found = &*bottleneck;
        clearest = labels[i];
    }
    if (found == nullptr) return std::nullopt;
    return PointsTable::Limited{fmt::format("{}: {}", name_of(limit), few_names(points)),
                                points.size() > 1 ? clearest + ": " + found->evidence : found->evidence,
                                "try: " + found->advice};
}

std::vector<PointsTable::Limited> limits_of(const Summaries& summaries, const std::vector<std::string>& labels) {
    std::vector<PointsTable::Limited> all;
    for (const auto& meaning : measure::limit_meanings())
        if (auto limited = limited_by(meaning.limit, summaries, labels)) all.push_back(std::move(*limited));
    return all;
}

std::string limits_text(const std::vector<PointsTable::Limited>& limits) {
    std::string text = limits.empty() ? "" : "\nWhat limits them\n";
    for (const auto& [points, evidence, advice] : limits)
        text += fmt::format("  {} ({}); {}\n", points, evidence, advice);
    return text;
}

TextTable table_of(const Summaries& summaries, const std::vector<std::string>& labels,
                   const Recommendations& recommendations) {
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

    for (size_t i = 0; i < summaries.size(); ++i) {
        std::vector<std::string> cells{labels[i]};
        for (const size_t entry : varying) cells.push_back(context_text(summaries[i], entry));
        for (const auto* metric : shown) cells.push_back(cell_of(*metric, summaries[i]));
        cells.push_back(status_text(summaries[i]) + star_of(summaries[i], recommendations));
        table.add_row(std::move(cells));
    }
    return table;
}

}  // namespace

PointsTable make_points_table(const Summaries& summaries, const Recommendations& recommendations) {
    require(!summaries.empty(), "a table of points needs a point");
    const auto labels = unique_labels(summaries);
    return {shared_context(summaries), table_of(summaries, labels, recommendations), remarks_of(summaries, labels),
            limits_of(summaries, labels)};
}

std::string points_table(const Summaries& summaries, const Recommendations& recommendations, const TextSize& size) {
    if (summaries.empty()) return "no points\n";
    const auto [shared, table, remarks, limits] = make_points_table(summaries, recommendations);
    std::string text = shared.empty() ? "" : shared + "\n\n";
    text += table.text(size.width);
    if (!remarks.empty()) text += "\n" + first_lines(remarks, size.most);
    return text + limits_text(limits);
}

}  // namespace pb::report
