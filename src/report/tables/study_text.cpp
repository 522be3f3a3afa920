#include "base/text.hpp"
#include "report/tables/tables.hpp"
#include "report/tables/text.hpp"
#include "report/tables/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace pb::report {

namespace {

constexpr size_t kMostLayers = 16;  // with a row of their own
constexpr double kMilli = 1e3;
constexpr double kMegabyte = 1e6;
constexpr double kGiga = 1e9;

std::string share_percent(double share) { return fixed(100 * share, 1); }

std::optional<double> rate(double work, double seconds) {
    return work > 0 && seconds > 0 ? std::optional(work / seconds / kGiga) : std::nullopt;
}

std::vector<std::string> layer_row(const measure::LayerShare& layer) {
    return {layer.layer,
            layer.operation,
            readable(kMilli * layer.seconds),
            share_percent(layer.share),
            readable(layer.flop / kGiga),
            readable(layer.executed_flop / kGiga),
            readable(layer.bytes / kMegabyte),
            readable(rate(layer.flop, layer.seconds)),
            readable(rate(layer.bytes, layer.seconds)),
            layer.of_bound ? fixed(100 * *layer.of_bound, 0) : "-"};
}

measure::LayerShare sum_from(const std::vector<measure::LayerShare>& layers, size_t first) {
    measure::LayerShare sum;
    sum.layer = fmt::format("{} smaller layers", layers.size() - first);
    for (size_t i = first; i < layers.size(); ++i) {
        sum.seconds += layers[i].seconds;
        sum.share += layers[i].share;
        sum.flop += layers[i].flop;
        sum.executed_flop += layers[i].executed_flop;
        sum.bytes += layers[i].bytes;
    }
    return sum;
}

using enum TextTable::Align;

std::string percent(std::optional<double> ratio) { return ratio ? fmt::format("{:+.1f} %", 100 * *ratio) : "-"; }

std::string count(std::optional<int64_t> value) { return value ? std::to_string(*value) : "-"; }

std::string curve_text(const char* name, const std::optional<measure::BatchCurve>& curve) {
    if (!curve) return "";
    std::string text = fmt::format("    {} T(b) = {}, b = {}..{}:", name, name_of(curve->form),
                                   curve->line.front().batch, curve->line.back().batch);
    for (const auto& parameter : curve->parameters)
        text += fmt::format(" {} = {};", parameter.name, with_interval(parameter.value, parameter.interval));
    text += fmt::format(" residuals {:.1f} %\n", 100 * curve->rms_residual);
    for (const auto& note : curve->notes) text += "      " + note + "\n";
    return text;
}

std::string times_text(const measure::BatchTimes& times) {
    const auto& fit = times.fit;
    return fmt::format("{}, {}: fastest batch {}; smallest within 3 % of it {} ({})\n", times.label,
                       name_of(times.scope), fit.fastest_batch, fit.sufficient_batch, fit.sufficient_words) +
           curve_text("left arm:", fit.left_arm) + curve_text("all:", fit.rising) + "    " + fit.comparison;
}

std::string memory_text(const std::vector<measure::BatchMemory>& groups, size_t width) {
    TextTable table;
    table.add_column("memory over batch", left);
    table.add_columns(
        {"base\nMiB", "a window\nMiB", "largest\ndeviation", "at\nbatch", "limit\nMiB", "largest batch\nby the fit"});
    for (const auto& group : groups)
        table.add_row({group.label, readable(group.fit.base_mib), readable(group.fit.per_window_mib),
                       fmt::format("{:.1f} %", 100 * group.fit.largest_deviation),
                       std::to_string(group.fit.largest_deviation_batch), readable_mib(group.limit_mib),
                       count(group.predicted_batch)});
    return table.text(width);
}

std::string largest_text(const std::vector<measure::LargestBatch>& searches, size_t width) {
    TextTable table;
    table.add_column("largest batch", left);
    table.add_columns({"found", "limited\nby", "limit\nMiB", "tries", "predicted by\nthe doublings", "off by"});
    for (const auto& each : searches)
        table.add_row({each.label, each.search.found > 0 ? std::to_string(each.search.found) : "nothing fits",
                       std::string(name_of(each.search.limited_by)), readable_mib(each.limit_mib),
                       std::to_string(each.search.tries.size()), count(each.predicted_batch),
                       percent(each.prediction_error)});
    return table.text(width);
}

std::string variants_text(const std::vector<measure::VariantGroup>& variants, size_t width) {
    TextTable table;
    table.add_columns({"against", "point"}, left);
    table.add_columns({"base s\n[95 %]", "speed-up\n[95 %]", "forward\nspeed-up", "memory\nratio",
                       "largest difference\nto fp32", "PSNR loss\ndB"});
    for (const auto& group : variants)
        for (const auto& point : group.points)
            table.add_row({group.base_variant, group.label + ": " + point.variant,
                           with_interval(group.base_pipeline_s, group.base_interval),
                           with_interval(point.speedup, point.range), readable(point.forward_speedup),
                           readable(point.memory_ratio),
                           readable(point.max_difference) + (point.every_window ? "" : " (probes)"),
                           fixed(point.psnr_loss_db, 3)});
    return table.text(width);
}

std::string recommendation_text(const measure::Recommendation& recommendation, const TextSize& size) {
    const std::string words = recommendation.point
                                  ? std::string(kStar) + " " + recommendation.point_label + ": " + recommendation.reason
                                  : recommendation.reason;
    return finding_line(recommendation.label + ": " + words, size);
}

/// Curves over the batch, or how many there are, where they are more than `size` allows.
std::string over_batch_text(const measure::StudySummary& study, const TextSize& size) {
    if (std::max(study.batch_times.size(), study.batch_memory.size()) > size.most)
        return fmt::format("Over the batch: {} curves of time and {} of memory; --verbose prints them\n",
                           study.batch_times.size(), study.batch_memory.size());
    std::string text = study.batch_times.empty() ? "" : "Time a window over the batch\n";
    for (const auto& times : study.batch_times) text += "  " + times_text(times) + "\n";
    if (!study.batch_memory.empty()) add_item(text, memory_text(study.batch_memory, size.width), "\n");
    return text;
}

}  // namespace

std::string layers_table(const measure::PointProfile& profile, size_t width) {
    TextTable table;
    table.add_column("layer", TextTable::Align::left);
    table.add_column("operation", TextTable::Align::prose);
    table.add_columns({"ms", "%", "GFLOP", "exe-\ncuted", "MB", "GFLOP/s", "GB/s", "% of\nbound"});
    const auto& layers = profile.layers;
    const size_t shown = layers.size() > kMostLayers + 1 ? kMostLayers : layers.size();
    for (size_t i = 0; i < shown; ++i) table.add_row(layer_row(layers[i]));
    if (shown < layers.size()) table.add_row(layer_row(sum_from(layers, shown)));
    const double other = profile.forward_s > 0 ? profile.other_s / profile.forward_s : 0;
    table.add_row({"other", "", readable(kMilli * profile.other_s), share_percent(other), "", "", "", "", "", ""});
    return fmt::format("Layers of {}: a forward call of {} takes {} ms on rank {} (mean of {})\n{}", profile.label,
                       counted(profile.windows, "window"), readable(kMilli * profile.forward_s), profile.rank,
                       counted(profile.calls, "call"), table.text(width));
}

std::string study_text(const measure::StudySummary& study, const TextSize& size) {
    std::string text;
    if (!study.recommendations.empty()) text += "Which point to take\n";
    for (const auto& recommendation : study.recommendations) text += recommendation_text(recommendation, size);
    const auto add = [&](const std::string& part) {
        if (!part.empty()) add_item(text, part, "\n");
    };
    add(over_batch_text(study, size));
    if (!study.largest_batches.empty()) add(largest_text(study.largest_batches, size.width));
    if (!study.variants.empty()) add(variants_text(study.variants, size.width));
    for (const auto& scaling : study.scalings) add(scaling_text(scaling, size.width));
    const size_t num_profiles = std::min(size.most, study.profiles.size());
    for (size_t i = 0; i < num_profiles; ++i) add(layers_table(study.profiles[i], size.width));
    if (num_profiles < study.profiles.size())
        text += fmt::format("and the layers of {}; --verbose prints all\n",
                            counted(study.profiles.size() - num_profiles, "more point"));
    return text;
}

}  // namespace pb::report
