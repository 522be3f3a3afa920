#include "measure/study/point_groups.hpp"

#include "support/study_points.hpp"
#include "sweep_traces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::measure {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Summary> summaries_of(const std::vector<record::PointTrace>& traces) {
    std::vector<Summary> summaries;
    summaries.reserve(traces.size());
    for (const auto& trace : traces) summaries.push_back(summarise(trace));
    return summaries;
}

std::vector<BatchPanel> panels_of(const std::vector<record::PointTrace>& traces) {
    return find_batch_panels(study_points(traces, summaries_of(traces)), plan::make_local_topology(1));
}

std::vector<Alternatives> alternatives_of(const std::vector<record::PointTrace>& traces) {
    return find_alternatives(study_points(traces, summaries_of(traces)));
}

record::PointTrace with_index(record::PointTrace trace, int64_t index) {
    trace.point.index = index;
    return trace;
}

TEST(BatchPanel, HasALineForEachWayToCut) {
    auto traces = batch_sweep();  // batches 4, 1 and 2
    traces.push_back(with_index(sample_point(2, 9, 2, 150), 7));
    traces.back().point.settings.patch = 128;
    traces.push_back(with_index(sample_point(8, 9, 2, 150), 8));
    traces.back().status = record::PointStatus::oom;
    for (auto& trace : traces) trace.point.settings.memory_limit_mib = 300;
    const auto panels = panels_of(traces);
    ASSERT_EQ(panels.size(), 1U);
    EXPECT_THAT(panels[0].all.points, ElementsAre(4, 1, 2, 7, 8));
    ASSERT_EQ(panels[0].lines.size(), 2U);
    EXPECT_THAT(panels[0].lines[0].points, ElementsAre(1, 2, 4, 8)) << "by batch, with what did not fit";
    EXPECT_EQ(panels[0].lines[0].label, "dncnn-p256-h20-fp32");
    EXPECT_THAT(panels[0].lines[1].points, ElementsAre(7)) << "a line of one point stands beside longer ones";
    EXPECT_EQ(panels[0].limit_mib, 300);
}

TEST(BatchPanel, HasALineForEachHaloAndWayToGiveContext) {
    std::vector<record::PointTrace> traces;
    for (const int64_t batch : {1, 2})
        for (const auto& halo : std::vector<config::HaloSetting>{{config::HaloSetting::Kind::pixels, 20},
                                                                 {config::HaloSetting::Kind::pixels, 40},
                                                                 {config::HaloSetting::Kind::carried, 0},
                                                                 {config::HaloSetting::Kind::exchanged, 0}}) {
            const auto index = static_cast<int64_t>(traces.size());
            traces.push_back(with_index(sample_point(batch, 9, 2, 150), index));
            traces.back().point.settings.halo = halo;
            traces.back().point.halo = halo.pixels > 0 ? halo.pixels : 20;  // that of the exact one
        }
    const auto panels = panels_of(traces);
    ASSERT_EQ(panels.size(), 1U);
    ASSERT_EQ(panels[0].lines.size(), 4U);
    for (size_t line = 0; line < 4; ++line)
        EXPECT_THAT(panels[0].lines[line].points, ElementsAre(line, line + 4)) << panels[0].lines[line].label;
}

TEST(BatchPanel, ADeviceIsTheOneThatWasUsedWhicheverWasAskedFor) {
    auto traces = batch_sweep();
    traces[1].point.settings.device = config::DeviceChoice::cpu;
    ASSERT_EQ(panels_of(traces).size(), 1U);
    EXPECT_THAT(panels_of(traces)[0].lines[0].points, ElementsAre(1, 2, 4));
    traces[1].point.settings.device = config::DeviceChoice::automatic;
    traces[1].point.device = DeviceKind::cuda;
    ASSERT_EQ(panels_of(traces).size(), 1U);
    EXPECT_THAT(panels_of(traces)[0].all.points, ElementsAre(4, 2));
}

TEST(BatchPanel, LevelHaloAndRanksAreThoseThatWereUsedWhateverWasAskedFor) {
    auto traces = batch_sweep();
    traces[0].point.settings.halo = {config::HaloSetting::Kind::pixels, *traces[0].point.halo};
    traces[1].point.settings.sigma.level = traces[1].point.sigma;
    traces[2].point.settings.ranks.count = traces[2].point.num_ranks;
    ASSERT_EQ(panels_of(traces).size(), 1U);
    EXPECT_THAT(panels_of(traces)[0].lines[0].points, ElementsAre(1, 2, 4));
    traces[2].point.sigma /= 2;
    EXPECT_THAT(panels_of(traces).at(0).all.points, ElementsAre(4, 1)) << "another level";
}

TEST(BatchPanel, OtherNetworksHaveAPanelOfTheirOwn) {
    auto traces = batch_sweep();
    for (auto trace : batch_sweep()) {
        trace.point.settings.network = network::kind_of<network::DrunetShape>();
        traces.push_back(with_index(trace, trace.point.index + 10));
    }
    const auto panels = panels_of(traces);
    ASSERT_EQ(panels.size(), 2U);
    EXPECT_THAT(panels[1].all.points, ElementsAre(14, 11, 12));
    EXPECT_NE(panels[0].all.key, panels[1].all.key);
    EXPECT_EQ(panels[0].all.key, panels_of(batch_sweep()).at(0).all.key) << "the same in another study";
}

TEST(BatchPanel, NeedsTwoBatchesAndAMeasuredPoint) {
    auto traces = batch_sweep();
    for (auto& trace : traces) trace.status = record::PointStatus::oom;
    EXPECT_THAT(panels_of(traces), IsEmpty());
    traces = batch_sweep();
    traces[0].status = traces[1].status = record::PointStatus::skipped;
    EXPECT_THAT(panels_of(traces), IsEmpty()) << "one batch is left";
    traces = batch_sweep();
    for (auto& trace : traces) trace.point.settings.workload = config::Workload::whole;
    EXPECT_THAT(panels_of(traces), IsEmpty());
}

TEST(Alternatives, NeedNoBaseToStandSideBySide) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220)};
    for (const auto dtype : {Precision::fp16, Precision::bf16, Precision::bf16}) {
        traces.push_back(with_index(sample_point(4, 5, 2, 110), static_cast<int64_t>(traces.size()) + 20));
        traces.back().point.settings.dtype = dtype;
    }
    traces[0].status = record::PointStatus::oom;  // the fp32 point
    const auto all = alternatives_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].by, VariedBy::dtype);
    EXPECT_THAT(all[0].all.points, ElementsAre(21, 22)) << "the second bf16 is the same again";
}

TEST(Alternatives, DevicesAreUsedByTheirOwnNumbersOfRanks) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), with_index(sample_point(4, 1, 0.4, 220), 5)};
    traces[1].point.device = DeviceKind::cuda;
    traces[1].point.num_ranks = 2;
    traces[1].ranks.push_back(traces[1].ranks[0]);
    traces[1].ranks[1].rank = 1;
    const auto all = alternatives_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].by, VariedBy::device);
    EXPECT_THAT(all[0].all.points, ElementsAre(4, 5));
    traces[1].point.settings.patch = 128;
    EXPECT_THAT(alternatives_of(traces), IsEmpty());
}

TEST(Alternatives, AreComparedInTheirFasterLayouts) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), with_index(sample_point(4, 5, 2, 110), 5)};
    traces[1].point.settings.dtype = Precision::bf16;
    for (auto& trace : traces) trace.point.device = DeviceKind::cuda;
    traces[0].point.settings.layout = Layout::contiguous;
    traces[1].point.settings.layout = Layout::channels_last;
    EXPECT_EQ(alternatives_of(traces).size(), 1U);
    std::swap(traces[0].point.settings.layout, traces[1].point.settings.layout);
    EXPECT_THAT(alternatives_of(traces), IsEmpty()) << "layouts that were named";
}

TEST(Alternatives, OfEnginesAreComparedInTheirFasterLayoutsToo) {
    std::vector<record::PointTrace> traces{sample_point(4, 8, 3.2, 220), with_index(sample_point(4, 5, 2, 110), 5)};
    traces[1].point.settings.engine = EngineKind::pytorch;
    for (auto& trace : traces) trace.point.device = DeviceKind::cuda;
    traces[0].point.settings.layout = Layout::contiguous;
    const auto all = alternatives_of(traces);
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].by, VariedBy::engine);
}

}  // namespace
}  // namespace pb::measure
