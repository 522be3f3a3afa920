// Each key of the line "study_summary" holds the member of its own name: all members have different values here.
#include "report/results/json_values.hpp"

#include <gtest/gtest.h>

namespace pb::report {
namespace {

using record::Json;

measure::BatchCurve curve_of(double rms_residual) {
    measure::BatchCurve curve;
    curve.form = measure::CurveForm::rising;
    curve.parameters = {{"c", 0.25, Interval{0.125, 0.5}}};
    curve.fitted = {{4, 0.75}};
    curve.residuals = {0.0625};
    curve.rms_residual = rms_residual;
    curve.aicc = -12.5;
    curve.line = {{4, 0.75, Interval{0.5, 1.5}}};
    curve.notes = {"a note"};
    return curve;
}

Json json_of_curve(double rms_residual) {
    return {{"formula", "c / b^alpha + t_min + d b"},
            {"parameters", {{"c", {{"value", 0.25}, {"low", 0.125}, {"high", 0.5}}}}},
            {"batches", {4}},
            {"residuals", {0.0625}},
            {"rms_residual", rms_residual},
            {"aicc", -12.5},
            {"line", {{{"batch", 4.0}, {"window_s", 0.75}, {"low_s", 0.5}, {"high_s", 1.5}}}},
            {"notes", {"a note"}}};
}

TEST(JsonStudy, TimesOverTheBatchKeepTheirThreeCurvesApart) {
    measure::BatchTimes times{"a label", measure::TimeScope::forward, {{{4, 0.5}, 7, Interval{0.25, 0.75}}}, {}};
    times.fit = {.left_arm = curve_of(1),
                 .falling = curve_of(2),
                 .rising = curve_of(3),
                 .better = measure::BetterForm::falling,
                 .comparison = "compared",
                 .fastest_batch = 16,
                 .sufficient_batch = 8,
                 .sufficient_words = "words"};
    measure::StudySummary study;
    study.batch_times = {times};
    const Json expected{
        {"label", "a label"},
        {"scope", "forward"},
        {"samples", {{{"point", 7}, {"batch", 4}, {"window_s", 0.5}, {"low_s", 0.25}, {"high_s", 0.75}}}},
        {"fastest_batch", 16},
        {"sufficient_batch", 8},
        {"sufficient_words", "words"},
        {"better_form", "falling"},
        {"comparison", "compared"},
        {"left_arm", json_of_curve(1)},
        {"falling", json_of_curve(2)},
        {"rising", json_of_curve(3)}};
    EXPECT_EQ(json_of(study)["batch_times"][0], expected);
}

TEST(JsonStudy, MemoryOverTheBatch) {
    measure::StudySummary study;
    study.batch_panels = {{{}, {}, 714}};
    EXPECT_EQ(json_of(study)["batch_panels"][0]["limit_mib"], 714.0);
    const measure::MemoryFit fit{
        .base_mib = 100, .per_window_mib = 30, .largest_deviation = 0.5, .largest_deviation_batch = 2};
    study.batch_memory = {{"a label", {{{4, 220}, 7}}, fit, 715, 20}};
    study.largest_batches = {{8, "other", {{{4, true, 5}}, 6, record::BatchLimit::memory}, 716, fit, 21, 0.25}};
    const Json fitted{
        {"base_mib", 100.0}, {"per_window_mib", 30.0}, {"largest_deviation", 0.5}, {"largest_deviation_batch", 2}};
    EXPECT_EQ(json_of(study)["batch_memory"][0], (Json{{"label", "a label"},
                                                       {"samples", {{{"point", 7}, {"batch", 4}, {"peak_mib", 220.0}}}},
                                                       {"fit", fitted},
                                                       {"limit_mib", 715.0},
                                                       {"predicted_batch", 20}}));
    Json largest = json_of(study)["largest_batches"][0];
    EXPECT_EQ(largest["search"]["largest_batch"], 6);
    largest.erase("search");
    EXPECT_EQ(largest, (Json{{"point", 8},
                             {"label", "other"},
                             {"limit_mib", 716.0},
                             {"fit", fitted},
                             {"predicted_batch", 21},
                             {"prediction_error", 0.25}}));
}

TEST(JsonStudy, VariantsBesideTheirBase) {
    const measure::Variant variant{.point = 8,
                                   .variant = "bf16",
                                   .speedup = 2,
                                   .range = Interval{1.5, 2.5},
                                   .forward_speedup = 3,
                                   .memory_ratio = 0.5,
                                   .max_difference = 0.25,
                                   .every_window = true,
                                   .psnr_loss_db = 0.125};
    measure::StudySummary study;
    study.variants = {{.by = measure::VariedBy::dtype,
                       .label = "a label",
                       .base = 7,
                       .base_variant = "fp32",
                       .base_pipeline_s = 10,
                       .base_patches_per_s = 11,
                       .base_peak_mib = 12,
                       .base_interval = Interval{9, 13},
                       .points = {variant},
                       .fastest = 6}};
    const Json base{{"point", 7},     {"variant", "fp32"},     {"pipeline_s", 10.0}, {"low_s", 9.0},
                    {"high_s", 13.0}, {"patches_per_s", 11.0}, {"peak_mib", 12.0}};
    const Json point{{"point", 8},           {"variant", "bf16"},      {"speedup", 2.0},      {"speedup_low", 1.5},
                     {"speedup_high", 2.5},  {"forward_speedup", 3.0}, {"memory_ratio", 0.5}, {"max_difference", 0.25},
                     {"every_window", true}, {"psnr_loss_db", 0.125}};
    EXPECT_EQ(
        json_of(study)["variants"][0],
        (Json{
            {"by", "dtype"}, {"label", "a label"}, {"base", base}, {"points", Json::array({point})}, {"fastest", 6}}));
}

TEST(JsonStudy, AlternativesSideBySide) {
    measure::StudySummary study;
    study.alternatives = {{measure::VariedBy::engine, {"a key", "a label", {1, 2}}}};
    EXPECT_EQ(json_of(study)["alternatives"][0],
              (Json{{"key", "a key"}, {"label", "a label"}, {"points", {1, 2}}, {"by", "engine"}}));
}

TEST(JsonStudy, PointsOverTheRanks) {
    const measure::ScalingPoint point{.point = 7,
                                      .num_ranks = 2,
                                      .pipeline_s = 3,
                                      .pipeline_range = Interval{2, 4},
                                      .speedup = 5,
                                      .speedup_range = Interval{6, 7},
                                      .ideal = 8,
                                      .bound = 9,
                                      .efficiency = 10,
                                      .efficiency_range = Interval{11, 12},
                                      .efficiency_bound = 13,
                                      .of_bound = 14,
                                      .simulated_s = 15,
                                      .beyond_bound = 16,
                                      .overhead_per_window_s = 17,
                                      .between_s = 18,
                                      .host_cores = 19,
                                      .cpu_per_patch_s = 20,
                                      .host_peak_mib = 21,
                                      .parts = {{"gather", 0.25}},
                                      .waiting = {{1, 0.5}},
                                      .binding = "0-1"};
    measure::StudySummary study;
    study.scalings = {{measure::ScalingKind::weak, "a label", true, {point}, {"a warning"}}};
    const Json expected{{"point", 7},
                        {"num_ranks", 2},
                        {"pipeline_s", 3.0},
                        {"low_s", 2.0},
                        {"high_s", 4.0},
                        {"speedup", 5.0},
                        {"speedup_low", 6.0},
                        {"speedup_high", 7.0},
                        {"ideal", 8.0},
                        {"bound", 9.0},
                        {"efficiency", 10.0},
                        {"efficiency_low", 11.0},
                        {"efficiency_high", 12.0},
                        {"efficiency_bound", 13.0},
                        {"of_bound", 14.0},
                        {"simulated_s", 15.0},
                        {"beyond_bound", 16.0},
                        {"overhead_per_window_s", 17.0},
                        {"between_s", 18.0},
                        {"host_cores", 19.0},
                        {"cpu_per_patch_s", 20.0},
                        {"host_peak_mib", 21.0},
                        {"parts", {{"gather", 0.25}}},
                        {"ranks", {{{"rank", 1}, {"waiting_s", 0.5}}}},
                        {"binding", "0-1"}};
    EXPECT_EQ(json_of(study)["scalings"][0], (Json{{"kind", "weak"},
                                                   {"label", "a label"},
                                                   {"simulated", true},
                                                   {"points", Json::array({expected})},
                                                   {"warnings", {"a warning"}}}));
}

TEST(JsonStudy, LayersOfAPoint) {
    measure::StudySummary study;
    study.profiles = {{.point = 7, .label = "", .rank = 1, .calls = 3, .windows = 4, .forward_s = 5, .layers = {}}};
    study.profiles[0].other_s = 6;
    study.profiles[0].layers = {
        {{.layer = "a layer", .operation = "convolution", .flop = 12, .executed_flop = 13, .bytes = 14, .seconds = 10},
         11,
         15}};
    const Json layer{{"layer", "a layer"}, {"operation", "convolution"}, {"seconds", 10.0}, {"share", 11.0},
                     {"flop", 12.0},       {"executed_flop", 13.0},      {"bytes", 14.0},   {"of_bound", 15.0}};
    EXPECT_EQ(json_of(study)["profiles"][0], (Json{{"point", 7},
                                                   {"rank", 1},
                                                   {"calls", 3},
                                                   {"windows", 4},
                                                   {"forward_s", 5.0},
                                                   {"layers", Json::array({layer})},
                                                   {"other_s", 6.0}}));
}

TEST(JsonStudy, ChartsOverTheWidthAndBelowARoof) {
    measure::StudySummary study;
    study.width_series = {{{"a key", "a label", {1, 2}}, {{3, 4, 5, 6, measure::JumpCause::not_pixels, 7, true}}}};
    study.rooflines = {
        {DeviceKind::cuda, Precision::bf16, 1, measure::Roof{2, 3}, measure::Roof{4, 5}, {{6, 7, 8, 9, 10}}},
        {DeviceKind::cpu, Precision::fp32, 1, std::nullopt, std::nullopt, {}}};
    study.points = {{1, Interval{2, 3}, Interval{4, 5}, Interval{6, 7}, {{record::Stage::gather, 0.25}}}};
    const Json line = json_of(study);
    const Json jump{{"before", 3},           {"after", 4},        {"peak_ratio", 5.0}, {"pixels_ratio", 6.0},
                    {"cause", "not_pixels"}, {"is_largest", true}};
    EXPECT_EQ(line["width_series"][0],
              (Json{{"key", "a key"}, {"label", "a label"}, {"points", {1, 2}}, {"jumps", Json::array({jump})}}));
    const Json sample{{"point", 6},
                      {"flop_per_byte", 7.0},
                      {"executed_flop_per_byte", 8.0},
                      {"tflops", 9.0},
                      {"executed_tflops", 10.0}};
    EXPECT_EQ(line["rooflines"][0], (Json{{"device", "cuda"},
                                          {"dtype", "bf16"},
                                          {"copy_gb_per_s", 1.0},
                                          {"matmul", {{"tflops", 2.0}, {"ridge_flop_per_byte", 3.0}}},
                                          {"conv", {{"tflops", 4.0}, {"ridge_flop_per_byte", 5.0}}},
                                          {"points", Json::array({sample})}}));
    EXPECT_EQ(line["rooflines"][1]["matmul"], nullptr);
    EXPECT_EQ(line["rooflines"][1]["conv"], nullptr);
    EXPECT_EQ(line["points"][0], (Json{{"point", 1},
                                       {"patches_per_s", {{"low", 2.0}, {"high", 3.0}}},
                                       {"images_per_s", {{"low", 4.0}, {"high", 5.0}}},
                                       {"useful_mpx_per_s", {{"low", 6.0}, {"high", 7.0}}},
                                       {"stage_shares", {{"gather", 0.25}}}}));
}

}  // namespace
}  // namespace pb::report
