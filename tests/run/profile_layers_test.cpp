// The profile of a point: layers by name, FLOP of the graph, on the slowest rank, and a note where there are none.
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pb::run {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

config::PointSettings profiled_point(EngineKind engine) {
    config::PointSettings settings = test::computed_point({96, 96});
    settings.engine = engine;
    settings.halo.pixels = 4;
    settings.batch.count = 2;
    settings.protocol.max_reps = 1;
    settings.protocol.profile = 2;
    settings.protocol.verify = config::VerifyMode::off;
    settings.protocol.timeline = 0;
    return settings;
}

using ProfileLayers = test::OnRanks;

double sum(const record::Profile& profile, double record::LayerProfile::*member) {
    double all = 0;
    for (const auto& layer : profile.layers) all += layer.*member;
    return all;
}

TEST_F(ProfileLayers, NamesTheLayersOfTheGraphInEveryEngine) {
    for (const EngineKind engine : {EngineKind::torch, EngineKind::native}) {
        SCOPED_TRACE(std::string(name_of(engine)));
        const record::PointTrace trace = run(profiled_point(engine));
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        ASSERT_TRUE(trace.profile);
        const record::Profile& profile = *trace.profile;
        EXPECT_EQ(profile.calls, 2);
        EXPECT_EQ(profile.windows, 2);
        EXPECT_LT(profile.rank, world_.size());
        ASSERT_EQ(profile.layers.size(), 21U) << "20 convolutions with their ReLU, and the sum";
        EXPECT_EQ(profile.layers.front().layer, "in_conv");
        EXPECT_EQ(profile.layers.back().operation, "add");
        const double windows = 2.0 * 32 * 32, cores = 2.0 * 24 * 24;
        const double flop = 2 * network::network_facts(network::kind_of<network::DncnnShape>()).mac_per_pixel;
        const double of_layers = sum(profile, &record::LayerProfile::flop);
        EXPECT_LT(of_layers, windows * flop) << "windows are cropped";
        EXPECT_GT(of_layers, cores * flop);
        EXPECT_DOUBLE_EQ(profile.layers.back().bytes, 4 * 9 * cores) << "the last layer to the cores";
        if (engine == EngineKind::torch) {
            EXPECT_DOUBLE_EQ(sum(profile, &record::LayerProfile::executed_flop), of_layers);
        } else {
            EXPECT_DOUBLE_EQ(profile.layers.front().executed_flop, profile.layers.front().flop) << "3 channels";
            EXPECT_DOUBLE_EQ(profile.layers[1].executed_flop, profile.layers[1].flop / 4) << "Winograd's method";
        }
        EXPECT_LE(sum(profile, &record::LayerProfile::seconds), profile.forward_s) << "its parts are in the call";
        EXPECT_GT(sum(profile, &record::LayerProfile::seconds), 0);
    }
}

TEST_F(ProfileLayers, IsOfARankThatHasWindows) {
    config::PointSettings settings = profiled_point(EngineKind::native);
    settings.image.height = settings.image.width = 24;  // one window: only the last rank has one
    settings.protocol.profile = 1;
    const record::PointTrace trace = run(settings);
    ASSERT_TRUE(trace.profile);
    EXPECT_EQ(trace.profile->rank, world_.size() - 1);
    EXPECT_EQ(trace.profile->windows, 1);
    if (world_.size() < 3) return;
    for (plan::RankPlace& place : topology_.ranks) {
        place.node = place.rank / 2;
        place.local_rank = place.rank % 2;
    }
    settings.ranks.count = 2;
    settings.placement = config::Placement::scatter;  // ranks 0 and 2
    const record::PointTrace scattered = run(settings);
    if (world_.rank() == 1) return;  // it slept
    ASSERT_TRUE(scattered.profile);
    EXPECT_EQ(scattered.profile->rank, 2);
}

TEST_F(ProfileLayers, IsANoteWhereTheEngineHasNone) {
    config::PointSettings settings = profiled_point(EngineKind::reference);
    settings.image.height = settings.image.width = 24;
    const record::PointTrace trace = run(settings);
    EXPECT_FALSE(trace.profile);
    EXPECT_THAT(trace.point.notes, Contains(HasSubstr("no profile: the engine reference")));
    settings.protocol.profile = 0;
    const record::PointTrace plain = run(settings);
    EXPECT_THAT(plain.point.notes, Not(Contains(HasSubstr("no profile"))));
}

}  // namespace
}  // namespace pb::run
