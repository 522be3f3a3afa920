#include "base/mapped.hpp"
#include "base/text.hpp"
#include "report/metrics.hpp"
#include "report/tables/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace pb::report {

namespace {

/// Makes `text` one word, for lines that scripts split at spaces.
std::string one_word(std::string text) {
    std::ranges::replace_if(
        text, [](unsigned char c) { return std::isspace(c) != 0; }, '_');
    return text;
}

}  // namespace

std::vector<std::string> unique_labels(const std::vector<measure::Summary>& summaries) {
    return mapped(summaries, [&](const measure::Summary& summary) {
        return measure::unique_label(summary, std::ranges::count(summaries, summary.label, &measure::Summary::label));
    });
}

std::string fom_lines(const std::vector<measure::Summary>& summaries) {
    const auto labels = unique_labels(summaries);
    std::string lines;
    for (size_t i = 0; i < summaries.size(); ++i) {
        for (const auto& metric : metrics()) {
            const auto value = metric.value(summaries[i]);
            if (!metric.is_headline() || !value) continue;
            lines += fmt::format("FOM {}.{} {:.6g} {}\n", one_word(labels[i]), metric.key, *value, metric.unit);
        }
    }
    return lines;
}

std::string finding_line(const std::string& finding, const TextSize& size) {
    const std::string line = "  " + finding;
    return (size.is_short() ? cut_to(line, size.width) : line) + "\n";
}

std::string first_lines(const std::vector<std::string>& texts, const TextSize& size) {
    std::string lines;
    for (size_t i = 0; i < std::min(size.most, texts.size()); ++i) lines += finding_line(texts[i], size);
    return texts.size() <= size.most
               ? lines
               : lines + fmt::format("  and {} more; --verbose prints all\n", texts.size() - size.most);
}

std::string result_line(std::string_view result, const std::vector<std::string>& reasons) {
    constexpr size_t kMost = 3, kRoom = 600;  // one reason is told in full, several keep the line readable
    std::string text = fmt::format("RESULT: {}", result);
    const size_t shown = std::min(kMost, reasons.size());
    for (size_t i = 0; i < shown; ++i)
        text += (i == 0 ? "  " : "; ") + cut_to(without_controls(reasons[i], ' '), kRoom / shown);
    if (reasons.size() > kMost) text += fmt::format("; and {} more", reasons.size() - kMost);
    return text;
}

std::string verdict_line(const measure::Verdict& verdict) {
    return result_line(name_of(verdict.validity), verdict.reasons);
}

std::string glossary() {
    std::string all = "| key | unit | meaning | over ranks | over repetitions | better |\n|---|---|---|---|---|---|\n";
    for (const auto& metric : metrics())
        all += fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", metric.key, metric.unit, metric.meaning,
                           metric.over_ranks, metric.over_reps, name_of(metric.better));
    return all;
}

std::string limit_glossary() {
    std::string all = "| class | named when | what to try |\n|---|---|---|\n";
    for (const auto& meaning : measure::limit_meanings())
        all += fmt::format("| {} | {} | {} |\n", name_of(meaning.limit), meaning.when, meaning.advice_text());
    return all;
}

}  // namespace pb::report
