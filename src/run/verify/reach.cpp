#include "run/verify/reach.hpp"

#include "config/text.hpp"
#include "plan/rows.hpp"

#include "patchbench/base/shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace pb::run {

namespace {

/// For each pixel of a row or a column of a map, the pixels of the input that it depends on.
using Line = std::vector<Range>;

/// Pixels of an operand from which pixel `x` of an operation's map is computed. `layer` has the weights of a
/// convolution.
Range pixels_under(network::OperationKind kind, const engine::Convolution* layer, int64_t x) {
    switch (kind) {
        case network::OperationKind::convolution: {
            const int64_t first = x * layer->stride - (layer->kernel == 3 ? 1 : 0);
            return {first, first + layer->kernel};
        }
        case network::OperationKind::max_pool: return {2 * x, 2 * x + 2};
        case network::OperationKind::transposed_convolution:
        case network::OperationKind::upsample: return {x / 2, x / 2 + 1};
        default: return {x, x + 1};
    }
}

/// What `pixels` of an operand see, added to `seen`.
Range joined(Range seen, const Line& operand, const Range& pixels) {
    for (int64_t i = std::max<int64_t>(pixels.begin, 0); i < std::min(pixels.end, std::ssize(operand)); ++i) {
        const Range& pixel = operand[static_cast<size_t>(i)];
        seen = {std::min(seen.begin, pixel.begin), std::max(seen.end, pixel.end)};
    }
    return seen;
}

/// The line ends where the middle of the pixels under it leaves that of the operand.
Line line_of(const network::Operation& operation, const engine::Weights& weights, const std::vector<Line>& lines) {
    const engine::Convolution* const layer =
        operation.filter ? &weights.convolution(operation.filter->weights) : nullptr;
    Line line;
    for (int64_t x = 0;; ++x) {
        const Range pixels = pixels_under(operation.kind, layer, x);
        if ((pixels.begin + pixels.end - 1) / 2 >= std::ssize(lines[operation.operands.front()])) return line;
        Range seen{std::numeric_limits<int64_t>::max(), 0};
        for (const size_t operand : operation.operands) seen = joined(seen, lines[operand], pixels);
        line.push_back(seen);
    }
}

/// The lines of all maps for an input of `length` pixels.
std::vector<Line> walk(const network::Graph& graph, const engine::Weights& weights, int64_t length) {
    std::vector<Line> lines(1);
    for (int64_t x = 0; x < length; ++x) lines[0].push_back({x, x + 1});
    for (size_t i = 1; i < graph.size(); ++i) lines.push_back(line_of(graph[i], weights, lines));
    return lines;
}

/// Operation 1 cannot but read the input. Where it is no convolution, no weights tell the channels.
bool first_layer_takes_sigma(const network::Graph& graph, const engine::Weights& weights) {
    const auto& filter = graph[1].filter;
    const int64_t taken = filter ? weights.convolution(filter->weights).in_channels : graph.channels_in();
    return taken == weights.channels() + 1;
}

constexpr int64_t kUnboundedContext = 512;  // px

/// px: a card was found with windows of noise, and of some networks the reach depends on what is in the image.
constexpr int64_t kLeastBeyond = 64;

/// More than a halo, in alignments whose number neither 2 nor 3 divides: then windows begin at other places of a period
/// of twice, three or four times the stated alignment, and show it.
int64_t beyond(int64_t halo, int64_t alignment) {
    int64_t steps = std::max(halo, kLeastBeyond) / alignment + 1;
    while (steps % 2 == 0 || steps % 3 == 0) ++steps;
    return steps * alignment;
}

Reach reach_stated_in(const network::NetworkCard& card) {
    const bool takes_sigma = card.sigma != network::SigmaInput::none;
    const int64_t alignment = card.alignment, step = card.extent_step();
    if (card.halo) return {alignment, *card.halo, takes_sigma, *card.halo + beyond(*card.halo, alignment), true, step};
    const int64_t most = round_up(kUnboundedContext, alignment);
    return {alignment, most, takes_sigma, most, false, step};
}

}  // namespace

Reach reach_of(const engine::Weights& weights) {
    if (!weights.has_layers()) return reach_stated_in(*weights.card);
    const network::Graph graph = weights.graph();
    for (int64_t length = 2048;; length *= 2) {  // until the middle does not see the border
        const std::vector<Line> lines = walk(graph, weights, length);
        const int64_t alignment = length / std::ssize(std::ranges::min(lines, {}, &Line::size));
        const int64_t middle = length / 2, end = middle + alignment;
        const Range seen = joined({middle, end}, lines.back(), {middle, end});
        if (seen.begin == 0 || seen.end == length) continue;
        Reach reach{alignment, round_up(std::max(middle - seen.begin, seen.end - end), alignment),
                    first_layer_takes_sigma(graph, weights)};
        reach.before = middle - seen.begin;
        reach.behind = seen.end - end;
        return reach;
    }
}

std::optional<std::string> find_wrong_fact(const engine::Weights& weights) {
    if (!weights.has_layers()) return std::nullopt;
    const network::NetworkFacts& facts = weights.facts();
    const std::string name = weights.card ? weights.source : std::string(name_of(weights.kind()));
    const auto says = [&](const std::string& what, int64_t table, int64_t layers) {
        return fmt::format("{}: its graph says {} {}, its layers {}: a fault of patchbench, please report it", name,
                           what, table, layers);
    };
    if (const auto layers = std::ssize(weights.convolutions); facts.num_convolutions != layers)
        return says("convolutions", facts.num_convolutions, layers);
    const Reach reach = reach_of(weights);
    if (facts.alignment != reach.alignment) return says("alignment", facts.alignment, reach.alignment);
    if (facts.takes_sigma != reach.takes_sigma)
        return says("sigma channels", facts.takes_sigma ? 1 : 0, reach.takes_sigma ? 1 : 0);
    return std::nullopt;
}

std::optional<std::string> find_short_halo(const plan::Point& point, const engine::Weights& weights) {
    if (!weights.has_layers()) return std::nullopt;  // the halo is that of the card
    const int64_t halo = reach_of(weights).halo;
    const config::PointSettings& settings = point.settings;
    const bool is_exact =
        (settings.workload == config::Workload::tiles && settings.halo.kind == config::HaloSetting::Kind::exact) ||
        plan::is_in_bands(point);
    if (!is_exact || point.halo.value() >= halo) return std::nullopt;
    return fmt::format("halo: {} is {} px for {}, but the layers of these weights see {} px: set halo: {}",
                       config::format_setting(settings.halo), point.halo.value(), settings.network.name(), halo, halo);
}

}  // namespace pb::run
