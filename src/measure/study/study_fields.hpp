// Lists the fields of a StudySummary and its parts, in the order of the line "study_summary" of results.jsonl. They are
// only written. Indices are those of points.
#pragma once

#include "base/mapped.hpp"
#include "measure/study/study_summary.hpp"
#include "record/fields.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pb::measure {

/// The ends of a 95 % interval as two fields; null where there is none.
void ends(auto& v, std::string_view low, std::string_view high, const std::optional<Interval>& interval) {
    v(low, interval ? std::optional(interval->low) : std::nullopt, "95 % interval");
    v(high, interval ? std::optional(interval->high) : std::nullopt);
}

/// An interval as an object.
struct Ends : Interval {};
[[nodiscard]] inline std::optional<Ends> ends_of(const std::optional<Interval>& interval) {
    return interval ? std::optional(Ends{*interval}) : std::nullopt;
}
void fields(auto& v, const Ends& interval) {
    v("low", interval.low);
    v("high", interval.high);
}

void fields(auto& v, const FittedNumber& parameter) {
    v("value", parameter.value);
    ends(v, "low", "high", parameter.interval);
}

void fields(auto& v, const CurvePoint& point) {
    v("batch", point.batch);
    v("window_s", point.window_s);
    ends(v, "low_s", "high_s", point.band);
}

void fields(auto& v, const BatchCurve& curve) {
    const auto by_name = [](const FittedNumber& parameter) { return std::pair(parameter.name, parameter); };
    v("formula", curve.form);
    v("parameters", record::derived([&] { return mapped(curve.parameters, by_name); }), "c, alpha, t_min and d");
    v("batches", record::derived([&] { return mapped(curve.fitted, &BatchTime::batch); }), "what it was fitted to");
    v("residuals", curve.residuals, "(measured - curve) / measured, of `batches`");
    v("rms_residual", curve.rms_residual);
    v("aicc", curve.aicc);
    v("line", curve.line, "the curve and its confidence band, within the batches it was fitted to");
    v("notes", curve.notes);
}

void fields(auto& v, const BatchTimes::Sample& sample) {
    v("point", sample.point);
    v("batch", record::whole(sample.batch, 1));
    v("window_s", record::positive_amount(sample.window_s));
    ends(v, "low_s", "high_s", sample.interval);
}

void fields(auto& v, const BatchTimes& times) {
    v("label", times.label);
    v("scope", times.scope);
    v("samples", times.samples);
    v("fastest_batch", record::whole(times.fit.fastest_batch, 1));
    v("sufficient_batch", record::whole(times.fit.sufficient_batch, 1), "the smallest within 3 % of the fastest");
    v("sufficient_words", times.fit.sufficient_words);
    v("better_form", times.fit.better);
    v("comparison", times.fit.comparison);
    v("left_arm", times.fit.left_arm, "a curve T(b) through the times up to the fastest; null: too few batches");
    v("falling", times.fit.falling);
    v("rising", times.fit.rising);
}

void fields(auto& v, const MemoryFit& fit) {
    v("base_mib", fit.base_mib);
    v("per_window_mib", fit.per_window_mib);
    v("largest_deviation", fit.largest_deviation, "|measured - fit| / measured");
    v("largest_deviation_batch", record::whole(fit.largest_deviation_batch, 1));
}

void fields(auto& v, const BatchMemory::Sample& sample) {
    v("point", sample.point);
    v("batch", record::whole(sample.batch, 1));
    v("peak_mib", sample.peak_mib);
}

void fields(auto& v, const BatchMemory& memory) {
    v("label", memory.label);
    v("samples", memory.samples);
    v("fit", memory.fit, "peak = base_mib + per_window_mib * batch");
    v("limit_mib", memory.limit_mib);
    v("predicted_batch", record::whole(memory.predicted_batch), "largest that the fit allows under the limit");
}

void fields(auto& v, const LargestBatch& largest) {
    v("point", largest.point);
    v("label", largest.label);
    v("search", largest.search);
    v("limit_mib", largest.limit_mib);
    v("fit", largest.fit, "of the doublings that fitted");
    v("predicted_batch", record::whole(largest.predicted_batch));
    v("prediction_error", largest.prediction_error, "predicted / found - 1, where memory was the limit");
}

void fields(auto& v, const Variant& variant) {
    v("point", variant.point);
    v("variant", variant.variant);
    v("speedup", variant.speedup, "pipeline_s of the base / of the point");
    ends(v, "speedup_low", "speedup_high", variant.range);
    v("forward_speedup", variant.forward_speedup);
    v("memory_ratio", variant.memory_ratio,
      "peak of the point / of the base: allocated, or engine_peak_mib where engines are compared");
    v("max_difference", variant.max_difference, "to the same windows in fp32 (batch 1, contiguous)");
    v("every_window", variant.every_window, "max_difference is over all windows, else over probes");
    v("psnr_loss_db", variant.psnr_loss_db);
}

void fields(auto& v, const VariantGroup& group) {
    v("by", group.by);
    v("label", group.label);
    v.group("base", [&](auto& base) {
        base("point", group.base);
        base("variant", group.base_variant);
        base("pipeline_s", group.base_pipeline_s);
        ends(base, "low_s", "high_s", group.base_interval);
        base("patches_per_s", group.base_patches_per_s);
        base("peak_mib", group.base_peak_mib);
    });
    v("points", group.points);
    v("fastest", group.fastest, "the point with the largest speedup, of those in `points`");
}

void fields(auto& v, const Recommendation& recommendation) {
    v("label", recommendation.label);
    v("points", recommendation.points, "all of them");
    v("point", recommendation.point, "null: none qualifies");
    v("why", recommendation.reason);
}

void fields(auto& v, const RankWaiting& waiting) {
    v("rank", waiting.rank);
    v("waiting_s", waiting.waiting_s);
}

void fields(auto& v, const ScalingPoint& point) {
    const auto by_name = [](const TimePart& part) { return std::pair(part.name, part.part); };
    v("point", point.point);
    v("num_ranks", record::count(point.num_ranks, 1));
    v("pipeline_s", point.pipeline_s);
    ends(v, "low_s", "high_s", point.pipeline_range);
    v("speedup", point.speedup, "pixels a second / those of the first point");
    ends(v, "speedup_low", "speedup_high", point.speedup_range);
    v("ideal", point.ideal, "ranks / ranks of the first point");
    v("bound", point.bound, "the largest speed-up that the split of the windows allows");
    v("efficiency", point.efficiency, "speedup / ideal");
    ends(v, "efficiency_low", "efficiency_high", point.efficiency_range);
    v("efficiency_bound", point.efficiency_bound, "bound / ideal");
    v("of_bound", point.of_bound, "speedup / bound");
    v("simulated_s", point.simulated_s, "what the simulated devices took, of the busiest rank");
    v("beyond_bound", point.beyond_bound, "pipeline_s / simulated_s - 1");
    v("overhead_per_window_s", point.overhead_per_window_s);
    v("between_s", point.between_s, "from one pass to the next");
    v("host_cores", point.host_cores, "process CPU time of all ranks / time of the passes");
    v("cpu_per_patch_s", point.cpu_per_patch_s);
    v("host_peak_mib", point.host_peak_mib, "of one rank, the largest");
    v("parts", record::derived([&] { return mapped(point.parts, by_name); }),
      "of the ranks' time, by stage; waiting: for the slowest rank; other: neither");
    v("ranks", point.waiting, "median over repetitions of the time that each rank waited for the slowest");
    v("binding", point.binding, "cores of the ranks");
}

void fields(auto& v, const Scaling& scaling) {
    v("kind", scaling.kind, "strong: the same image, weak: the same pixels a rank");
    v("label", scaling.label);
    v("simulated", scaling.simulated, "engine timed: no network ran");
    v("points", scaling.points, "by ranks; the first is what the others are held against");
    v("warnings", scaling.warnings);
}

void fields(auto& v, const PointSet& set) {
    v("key", set.key, "of what the points share, 16 hexadecimal digits: the same in every file that has such points");
    v("label", set.label);
    v("points", set.points);
}

void fields(auto& v, const MemoryJump& jump) {
    v("before", jump.before);
    v("after", jump.after);
    v("peak_ratio", jump.peak_ratio, "allocated_peak_mib after / before");
    v("pixels_ratio", jump.pixels_ratio, "pixels_per_forward after / before");
    v("cause", jump.cause,
      "path: it changed, and the pixels went the same way as the peak; not_pixels: they did not; not_path: it did not "
      "change");
    v("is_largest", jump.is_largest, "of the study");
}

void fields(auto& v, const WidthSeries& series) {
    fields(v, series.all);
    v("jumps", series.jumps,
      "neighbours whose peak changes by more than a quarter beyond the ratio of their widths, up or down");
}

void fields(auto& v, const Roof& roof) {
    v("tflops", roof.tflops, "where it is flat");
    v("ridge_flop_per_byte", roof.ridge_flop_per_byte, "where it begins to be");
}

void fields(auto& v, const Roofline::Sample& sample) {
    v("point", sample.point);
    v("flop_per_byte", sample.flop_per_byte, "FLOP for each byte that the layers must read or write");
    v("executed_flop_per_byte", sample.executed_flop_per_byte, "of those that the engine executes");
    v("tflops", sample.tflops, "of the network alone, one rank");
    v("executed_tflops", sample.executed_tflops, "of it; fewer by Winograd's method, without its transforms");
}

void fields(auto& v, const Roofline& roofline) {
    v("device", roofline.device);
    v("dtype", roofline.dtype);
    v("copy_gb_per_s", roofline.copy_gb_per_s);
    v("matmul", roofline.matmul, "null: its bound was not measured");
    v("conv", roofline.conv, "null: its bound was not measured");
    v("points", roofline.points);
}

void fields(auto& v, const LayerShare& layer) {
    v("layer", layer.layer);
    v("operation", layer.operation);
    v("seconds", record::amount(layer.seconds));
    v("share", record::amount(layer.share), "of forward_s");
    v("flop", record::amount(layer.flop));
    v("executed_flop", record::amount(layer.executed_flop));
    v("bytes", record::amount(layer.bytes));
    v("of_bound", record::amount(layer.of_bound),
      "least time by the bounds of the rank / seconds; null: a bound was not measured");
}

void fields(auto& v, const PointProfile& profile) {
    v("point", profile.point);
    v("rank", profile.rank);
    v("calls", record::whole(profile.calls, 1));
    v("windows", record::whole(profile.windows, 1));
    v("forward_s", record::amount(profile.forward_s));
    v("layers", profile.layers, "largest first");
    v("other_s", profile.other_s, "forward_s less all layers");
}

void fields(auto& v, const BatchPanel& panel) {
    fields(v, panel.all);
    v("lines", panel.lines, "of points that differ only in batch, by batch");
    v("limit_mib", panel.limit_mib, "memory_limit_mib, or the smallest device's memory");
}

void fields(auto& v, const Alternatives& alternatives) {
    fields(v, alternatives.all);
    v("by", alternatives.by);
}

void fields(auto& v, const PointFigures& figures) {
    const auto by_name = [](const StageShare& part) { return std::pair(std::string(name_of(part.stage)), part.share); };
    v("point", figures.point);
    v("patches_per_s", ends_of(figures.patches_per_s), "95 %; null: too few repetitions");
    v("images_per_s", ends_of(figures.images_per_s));
    v("useful_mpx_per_s", ends_of(figures.useful_mpx_per_s));
    v("stage_shares", record::derived([&] { return mapped(figures.stage_shares, by_name); }),
      "of the sum of the stages of a pass, which overlap on a GPU");
}

void fields(auto& v, const StudySummary& study) {
    v("recommendations", study.recommendations,
      "of points that differ only in how the image is cut and fed: the one to take");
    v("batch_times", study.batch_times,
      "points that differ only in batch: seconds a window. forward: one call / its windows; pipeline: pipeline_s / "
      "windows of the busiest rank");
    v("batch_memory", study.batch_memory, "points that differ only in batch: peak of the engine's allocator");
    v("largest_batches", study.largest_batches, "points with batch: largest");
    v("variants", study.variants,
      "points that differ only in dtype (against fp32), device (against the CPU) or engine (against torch)");
    v("scalings", study.scalings, "points that differ only in their ranks");
    v("width_series", study.width_series,
      "points over at least three widths of the image, in their order, and where their peak of memory jumps");
    v("rooflines", study.rooflines,
      "points of one device kind and precision; bounds are the least over points and ranks");
    v("profiles", study.profiles,
      "where the time of a forward call goes, on one rank; all figures are those of one call");
    v("batch_panels", study.batch_panels,
      "tiled points, measured or out of memory, that differ only in how the image is cut and fed");
    v("alternatives", study.alternatives, "measured points side by side, one for each precision, device or engine");
    v("points", study.points, "measured points: intervals of their rates, from that of pipeline_s");
}

}  // namespace pb::measure
