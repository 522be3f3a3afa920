#include "report/layers_table.hpp"

#include "report/numbers.hpp"

#include <fmt/format.h>

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
    measure::LayerShare sum{.layer = fmt::format("{} smaller layers", layers.size() - first)};
    for (size_t i = first; i < layers.size(); ++i) {
        sum.seconds += layers[i].seconds;
        sum.share += layers[i].share;
        sum.flop += layers[i].flop;
        sum.executed_flop += layers[i].executed_flop;
        sum.bytes += layers[i].bytes;
    }
    return sum;
}

}  // namespace

std::string layers_table(const measure::PointProfile& profile, size_t width) {
    TextTable table;
    table.add_column("layer", TextTable::Align::left);
    table.add_column("operation", TextTable::Align::prose);
    for (const char* heading : {"ms", "%", "GFLOP", "exe-\ncuted", "MB", "GFLOP/s", "GB/s", "% of\nbound"})
        table.add_column(heading);
    const auto& layers = profile.layers;
    const size_t shown = layers.size() > kMostLayers + 1 ? kMostLayers : layers.size();
    for (size_t i = 0; i < shown; ++i) table.add_row(layer_row(layers[i]));
    if (shown < layers.size()) table.add_row(layer_row(sum_from(layers, shown)));
    const double other = profile.forward_s > 0 ? profile.other_s / profile.forward_s : 0;
    table.add_row({"other", "", readable(kMilli * profile.other_s), share_percent(other), "", "", "", "", "", ""});
    return fmt::format("Layers of {}: a forward call of {} window{} takes {} ms on rank {} (mean of {} call{})\n{}",
                       profile.label, profile.windows, profile.windows == 1 ? "" : "s",
                       readable(kMilli * profile.forward_s), profile.rank, profile.calls, profile.calls == 1 ? "" : "s",
                       table.text(width));
}

}  // namespace pb::report
