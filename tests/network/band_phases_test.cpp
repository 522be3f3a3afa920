#include "network/parts/band_pieces.hpp"
#include "network/random_graph.hpp"
#include "network/receptive_field.hpp"
#include "support/graph_text.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

namespace pb::network {
namespace {

// One of each network.
std::vector<Graph> graphs() {
    std::vector<Graph> all{graph_of(DncnnShape{.depth = 5, .width = 8}), graph_of(UnetShape{.widths = {4, 8, 4}}),
                           graph_of(DrunetShape{.widths = {4, 8, 12, 4}, .blocks = 2})};
    for (uint32_t seed = 0; seed < 10; ++seed) all.push_back(test::RandomGraph(seed).make());
    return all;
}

BandSchedule schedule_of(const Graph& graph, int64_t bands) {
    const int64_t step = alignment_of(graph), height = bands * step;
    return {graph, {.rows = {0, height}, .band = step, .image = {height, 4 * step}, .unit = ComputedUnit::pixel}};
}

Range shifted(const Range& rows, int64_t by) { return {rows.begin + by, rows.end + by}; }

TEST(BandPhases, OfTwoStepsAreTheSameWhereTheyDoTheSame) {
    for (const Graph& graph : graphs()) {
        SCOPED_TRACE(to_text(graph));
        const BandSchedule schedule = schedule_of(graph, 60);
        const BandPhases phases(schedule);
        const int64_t places = places_of_chunks(schedule);
        const Range steps = phases.steps_with_phase();
        ASSERT_GT(steps.size(), places);
        EXPECT_TRUE(phases.phase_of(schedule.busiest_step()).has_value()) << "the step that is timed";
        for (int64_t step = steps.begin; step + places < steps.end; ++step) {
            EXPECT_EQ(phases.phase_of(step), phases.phase_of(step + places));
            EXPECT_EQ(step % places, phases.phase_of(step));
            for (size_t map = 0; map < graph.size(); ++map) {
                const int64_t rows = places * schedule.shape().band / graph.shape(map).scale;
                EXPECT_EQ(schedule.made(step + places, map), shifted(schedule.made(step, map), rows));
                EXPECT_EQ(schedule.held(step + places, map), shifted(schedule.held(step, map), rows));
                EXPECT_EQ(schedule.kept(step + places, map), shifted(schedule.kept(step, map), rows));
            }
        }
    }
}

TEST(BandPhases, AreOfAsManyStepsMoreAsTheImageHasBandsMore) {
    for (const Graph& graph : graphs()) {
        SCOPED_TRACE(to_text(graph));
        const BandSchedule schedule = schedule_of(graph, 60), taller = schedule_of(graph, 90);
        const Range steps = BandPhases(schedule).steps_with_phase(), more = BandPhases(taller).steps_with_phase();
        EXPECT_EQ(more, (Range{steps.begin, steps.end + 30})) << "the first and the last steps are others";
        EXPECT_FALSE(BandPhases(schedule).phase_of(steps.begin - 1).has_value());
        EXPECT_FALSE(BandPhases(schedule).phase_of(steps.end).has_value());
        EXPECT_LE(BandPhases(schedule_of(graph, 1)).steps_with_phase().size(), 1);
    }
}

TEST(BandPhases, LeaveOutStepsWhoseZerosOrChunksAreOthers) {
    for (const Graph& graph : graphs()) {
        SCOPED_TRACE(to_text(graph));
        const BandSchedule schedule = schedule_of(graph, 60);
        const Range steps = BandPhases(schedule).steps_with_phase();
        const int64_t places = places_of_chunks(schedule);
        for (int64_t step = steps.begin; step < steps.end; ++step)
            for (const Step& layer : steps_of(graph, fusing_of(ComputedUnit::pixel))) {
                const Zeros& zeros = band_piece(schedule, step, layer).zeros_in_rows;
                EXPECT_EQ(zeros.before + zeros.after + zeros.padding, 0) << "borders of the image are elsewhere";
            }
        const std::vector<bool> rings = rings_of(schedule);
        for (size_t map = 0; map < graph.size(); ++map)
            if (rings[map]) {
                EXPECT_EQ(schedule.made(steps.begin - places + 1, map).size(), schedule.made(steps.begin, map).size());
            }
    }
}

TEST(BandPhases, HavePlacesForTheChunksThatAnyStepReads) {
    for (const Graph& graph : graphs()) {
        SCOPED_TRACE(to_text(graph));
        const BandSchedule schedule = schedule_of(graph, 60);
        const std::vector<bool> rings = rings_of(schedule);
        int64_t most = 1;
        for (size_t map = 0; map < graph.size(); ++map)
            for (int64_t step = 0; step < schedule.num_steps(); ++step)
                for (int64_t maker = 0; rings[map] && maker <= step; ++maker)
                    if (schedule.made(maker, map).size() > 0 &&
                        schedule.made(maker, map).end > schedule.held(step, map).begin)
                        most = std::max(most, step - maker + 1);
        EXPECT_EQ(places_of_chunks(schedule), most);
    }
}

}  // namespace
}  // namespace pb::network
