#include "measure/bottleneck.hpp"

#include "base/text.hpp"
#include "measure/summary.hpp"
#include "plan/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace pb::measure {

namespace {

using Loss = Bottleneck::Loss;

constexpr double kSmallestLoss = 0.01;

std::string whole_percent(double share) { return fmt::format("{} %", std::lround(100 * share)); }
std::string percents(double value) { return fmt::format("{} %", std::lround(value)); }

double stage(const Summary& summary, record::Stage stage) {
    return summary.stage_s[stage].value_or(0) / *summary.pipeline_s;
}

/// Returns the share of the network, equal to the table's forward/pipeline (forward calls with the batch resident).
/// Uses the forward stage of the passes where no resident calls were timed.
double share_of_network(const Summary& summary) {
    return std::min(1.0, summary.efficiency.value_or(stage(summary, record::Stage::forward)));
}

/// Returns the share that the network does not hide. With overlap on a GPU the other stages cost only this much.
double exposed(const Summary& summary) { return std::max(0.0, 1 - stage(summary, record::Stage::forward)); }

/// Compares the median pass with the fastest: the difference is what a quiet machine would save.
double noise(const Summary& summary) {
    if (summary.repetitions < kMinRepetitionsForInterval || !summary.pipeline_min_s) return 0;
    return 1 - *summary.pipeline_min_s / *summary.pipeline_s;
}

/// Returns the mean share of the pipeline that ranks wait for the slowest.
double imbalance(const Summary& summary) {
    if (!summary.imbalance) return 0;
    double slowest_s = 0;
    for (const auto& rank : summary.ranks) slowest_s = std::max(slowest_s, rank.wall_s.value_or(0));
    return (1 - 1 / *summary.imbalance) * slowest_s / *summary.pipeline_s;
}

/// Returns the share of the pipeline in which a rank's forward calls had no core.
double starvation(const Summary& summary, const record::PointTrace& trace) {
    const double without_core = std::max(0.0, 1 - record::core_share_of(trace).value_or(1));
    return without_core * stage(summary, record::Stage::forward);
}

std::vector<Loss> find_losses(const Summary& s, const record::PointTrace& trace) {
    const auto shown = [&](double share) { return std::min(share, exposed(s)); };
    std::vector<Loss> losses{{Limit::host, shown(stage(s, record::Stage::gather) + stage(s, record::Stage::scatter))},
                             {Limit::transfer, shown(stage(s, record::Stage::h2d) + stage(s, record::Stage::d2h))},
                             {Limit::exchange, shown(stage(s, record::Stage::exchange))},
                             {Limit::imbalance, imbalance(s)},
                             {Limit::starved, starvation(s, trace)},
                             {Limit::noise, noise(s)}};
    std::erase_if(losses, [](const Loss& loss) { return loss.share < kSmallestLoss; });
    std::ranges::stable_sort(losses, std::greater{}, &Loss::share);
    return losses;
}

/// Returns ", at 42 % of <what>" when the value was measured.
std::string of_bound(const std::optional<double>& value, const std::string& what) {
    return value ? ", at " + percents(*value) + " of " + what : "";
}

std::string exchanged_rows(const record::PointTrace& trace) {
    std::string text = plan::is_exchanged(trace.point) ? "waiting for border rows" : "";
    if (text.empty() || (trace.exchange && trace.exchange->bytes > 0))
        add_item(text, "bringing the output to the root", " and ");
    return text;
}

std::string evidence_of(const Loss& loss, const Summary& s, const record::PointTrace& trace) {
    const std::string share = whole_percent(loss.share) + " of the pipeline";
    switch (loss.limit) {
        case Limit::host:
            return "gather and scatter take " + share + of_bound(s.host_of_copy_percent, "what one thread copies");
        case Limit::transfer:
            return "copies to and from the device take " + share +
                   of_bound(s.h2d_of_bound_percent, "the rate to the device") +
                   of_bound(s.d2h_of_bound_percent, "the rate back");
        case Limit::exchange:
            return exchanged_rows(trace) + " takes " + share +
                   of_bound(s.exchange_of_link_percent, "the link between the nodes");
        case Limit::imbalance:
            return fmt::format("ranks wait for the slowest{} for {} on average",
                               s.slowest_rank ? fmt::format(" (rank {})", *s.slowest_rank) : "", share);
        case Limit::starved: return "a rank's forward calls had no core for " + share;
        default:
            return fmt::format("the fastest of {} passes took {} less time than the median", s.repetitions,
                               whole_percent(loss.share));
    }
}

/// Names the further losses that are large enough.
std::string beside(const std::vector<Loss>& losses) {
    std::string text;
    for (size_t i = 1; i < losses.size() && losses[i].share >= kLossWorthNaming; ++i)
        text += (text.empty() ? "; beside it " : ", ") + std::string(name_of(losses[i].limit)) + " " +
                whole_percent(losses[i].share);
    return text;
}

const LimitMeaning& meaning_of(Limit limit) {
    return *std::ranges::find(limit_meanings(), limit, &LimitMeaning::limit);
}

/// The engine native has a lower one on some processors only, and lower precisions are not lowered again.
bool has_lower_precision(const plan::Point& point) {
    const config::PointSettings& settings = point.settings;
    return settings.engine != EngineKind::native &&
           (settings.dtype == Precision::fp32 || settings.dtype == Precision::tf32);
}

bool is_slowed_by_layout(const plan::Point& point) {
    return point.settings.layout == Layout::contiguous && plan::fastest_layout(point) != Layout::contiguous;
}

/// The percentage of its bound that the arithmetic reaches. Only LibTorch's convolutions are a bound for others.
std::optional<double> of_arithmetic(const Summary& s) {
    return s.forward_of_conv_percent ? s.forward_of_conv_percent : s.forward_of_matmul_percent;
}

/// Returns the resource that the network itself waits for. Without measured bounds it is compute.
Limit limit_of_network(const Summary& s) {
    const double compute = of_arithmetic(s).value_or(0);
    const double memory = s.forward_of_memory_percent.value_or(0);
    const bool is_far = compute < kNearBoundPercent && memory < kNearBoundPercent;
    if (is_far && s.convolution_us && *s.convolution_us < kLaunchUs) return Limit::launch;
    return of_arithmetic(s) && memory > compute ? Limit::memory : Limit::compute;
}

/// Formats "93.5 %", with the same number of digits as the ratio in the table.
std::string exact_percent(double share) {
    const auto tenths = std::lround(1000 * share);
    return fmt::format("{}.{} %", tenths / 10, tenths % 10);
}

/// Says how much longer the calls inside the passes take than resident calls. Empty when the difference may be rounding
/// of the clock.
std::string slower_inside(const Summary& s) {
    constexpr double kWorthSaying = 0.02;
    if (!s.efficiency || *s.efficiency <= 0) return "";
    const double excess = stage(s, record::Stage::forward) / *s.efficiency - 1;
    return excess < kWorthSaying ? "" : " (its calls take " + whole_percent(excess) + " longer inside the passes)";
}

std::string evidence_of_network(Limit limit, const Summary& s) {
    std::string text =
        "the network takes " + exact_percent(share_of_network(s)) + " of the pipeline" + slower_inside(s);
    if (limit == Limit::launch) text += fmt::format(", {} us a convolution", std::lround(*s.convolution_us));
    if (!of_arithmetic(s)) return text + "; bounds: on says how near it is to a bound";
    text +=
        of_bound(of_arithmetic(s), s.forward_of_conv_percent ? "the convolution rate" : "the rate of a matrix product");
    if (s.forward_of_memory_percent) text += " and " + percents(*s.forward_of_memory_percent) + " of the copy rate";
    return text;
}

}  // namespace

const std::vector<LimitMeaning>& limit_meanings() {
    static const std::vector<LimitMeaning> meanings{
        {Limit::compute,
         "the network takes the time, and its arithmetic is nearer to its bound than its memory traffic",
         {{"a lower precision (dtype)", has_lower_precision}, {"a smaller halo, a smaller network, more ranks"}}},
        {Limit::memory,
         "the network takes the time, and its memory traffic is nearer to its bound than its arithmetic",
         {{"a lower precision (it halves the traffic)", has_lower_precision},
          {"layout: channels_last", is_slowed_by_layout},
          {"on a CPU a smaller patch or batch, whose maps stay in its caches"}}},
        {Limit::launch,
         "the network takes the time, a convolution less than 20 us, and no bound is near",
         {{"a larger batch or patch; on a GPU cuda_graph: true"}}},
        {Limit::host,
         "cutting windows and writing patches on the host is what is lost",
         {{"more ranks, on a GPU more threads, a larger patch or smaller halo; on a GPU overlap: on, slots: 3"}}},
        {Limit::transfer,
         "copies between host and device are what is lost",
         {{"overlap: on and slots: 3, a larger patch or smaller halo, images in their own 8 or 16 bits (no noise "
           "added)"}}},
        {Limit::exchange,
         "bringing the output of other nodes to the root, or waiting for border rows (halo: exchanged), is what is "
         "lost",
         {{"halo exchanged: cores of its own for each rank (patchbench check), fewer ranks, a faster network between "
           "nodes",
           plan::is_exchanged},
          {"fewer nodes, a faster network between them, images in their own 8 or 16 bits (no noise added)",
           [](const plan::Point& point) { return !plan::is_exchanged(point); }}}},
        {Limit::imbalance,
         "waiting of ranks for the slowest one is what is lost",
         {{"batches and patches that split evenly over the ranks; a look at the slowest rank's host and cores"}}},
        {Limit::starved,
         "forward calls of a rank on a CPU had no core for that part of the time: a limit of a container or job, or "
         "other work",
         {{"cores of its own for each rank (patchbench check), no limit on processor time, nothing else on the "
           "machine"}}},
        {Limit::noise,
         "the median pass is that much slower than the fastest",
         {{"nothing else on the machine, ranks bound to cores (launch/ranks.sh), longer warmup.time_s"}}}};
    return meanings;
}

std::string LimitMeaning::advice_text(const plan::Point* point) const {
    std::string text;
    for (const Advice& one : advice)
        if (point == nullptr || one.applies == nullptr || one.applies(*point)) add_item(text, one.text);
    return text;
}

std::optional<Bottleneck> find_bottleneck(const Summary& summary, const record::PointTrace& trace) {
    if (!summary.pipeline_s || *summary.pipeline_s <= 0) return std::nullopt;
    Bottleneck found;
    found.losses = find_losses(summary, trace);
    if (!found.losses.empty() && found.losses.front().share >= kLossWorthNaming) {
        const Loss& largest = found.losses.front();
        found.limit = largest.limit;
        found.share = largest.share;
        found.evidence = evidence_of(largest, summary, trace) + beside(found.losses);
    } else {
        found.limit = limit_of_network(summary);
        found.share = share_of_network(summary);
        found.evidence = evidence_of_network(found.limit, summary);
    }
    found.advice = meaning_of(found.limit).advice_text(&trace.point);
    return found;
}

}  // namespace pb::measure
