// `halo: carried` on 1 to 3 ranks: the bits of the whole image by the same engine, whatever bands and ranks there are.
#include "plan/prediction.hpp"
#include "run/launch.hpp"
#include "run/run.hpp"
#include "support/quiet_study.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace pb::run {
namespace {

using test::quiet_study;

config::PointSettings small_point(network::NetworkKind network, Extent image) {
    config::PointSettings settings;
    settings.network = network;
    settings.weights = "seed:1";
    settings.engine = EngineKind::native;
    settings.device = config::DeviceChoice::cpu;
    settings.threads.count = 1;
    settings.protocol.warmup_reps = 0;
    settings.protocol.min_reps = 1;
    settings.protocol.max_time_s = 0;
    settings.protocol.remeasure = 0;
    settings.protocol.forward_calls = 1;
    settings.image.height = image.h;
    settings.image.width = image.w;
    return settings;
}

class CarriedRows : public testing::Test {
  protected:
    struct Made {
        record::PointTrace trace;
        std::vector<std::byte> bytes;  // on the root
    };

    CarriedRows()
        : world_(comm::Communicator::world()), topology_(gather_topology(world_, {config::DeviceChoice::cpu})) {}

    Made run(const config::PointSettings& settings) {
        const auto facts_of = [](const config::ImageSettings& image) {
            return plan::SourceFacts{{image.height, image.width}, image.channels};
        };
        const plan::Point point = plan::make_plan({study_, {settings}, ""}, topology_, facts_of).points.front();
        Made made;
        PointFiles files;
        files.image = "taken.npy";
        files.take = [&](const PixelView& pixels) {
            for (int64_t y = 0; y < pixels.extent.h; ++y) {
                const std::byte* const row = pixels.at(y, 0);
                made.bytes.insert(made.bytes.end(), row,
                                  row + static_cast<size_t>(pixels.extent.w) * pixels.pixel_bytes());
            }
        };
        made.trace = Runner(world_, topology_, study_).run(point, files);
        return made;
    }

    void expect_whole_image(config::PointSettings settings, const std::vector<int64_t>& bands) {
        settings.workload = config::Workload::whole;
        const Made whole = run(settings);
        ASSERT_EQ(whole.trace.status, record::PointStatus::ok) << whole.trace.reason;
        settings.workload = config::Workload::tiles;
        settings.halo.kind = config::HaloSetting::Kind::carried;
        for (const int64_t band : bands) {
            settings.patch = band;
            const Made made = run(settings);
            ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
            if (!world_.is_root()) continue;
            EXPECT_TRUE(made.bytes == whole.bytes) << "bands of " << band;
            if (settings.protocol.verify == config::VerifyMode::off) continue;
            EXPECT_EQ(made.trace.verification.outcome, record::Verification::Outcome::passed)
                << testing::PrintToString(made.trace.verification.reasons);
            EXPECT_TRUE(made.trace.verification.seam_decides);
        }
    }

    const comm::Communicator world_;
    const plan::Topology topology_;
    const config::StudySettings study_ = quiet_study();
};

TEST_F(CarriedRows, GiveTheWholeImageOfDncnn) {
    expect_whole_image(small_point(network::kind_of<network::DncnnShape>(), {83, 45}), {1, 30, 32, 64, 128});
}

TEST_F(CarriedRows, GiveTheWholeImageOfUnet) {
    expect_whole_image(small_point(network::kind_of<network::UnetShape>(), {147, 37}), {32, 64, 256});
}

TEST_F(CarriedRows, GiveTheWholeImageOfDrunet) {
    config::PointSettings settings = small_point(network::kind_of<network::DrunetShape>(), {150, 29});
    settings.protocol.verify = config::VerifyMode::off;  // bands of DRUNet with all their context take long
    expect_whole_image(settings, {64});
}

TEST_F(CarriedRows, TakeTheMemoryThatIsPredicted) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>(), {400, 64});
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    const Made made = run(settings);
    ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
    if (!world_.is_root()) return;
    int64_t most = 0;
    for (const record::RankTrace& rank : made.trace.ranks) most = std::max(most, rank.memory.allocated_peak);
    EXPECT_NEAR(static_cast<double>(most) / kMiB, made.trace.prediction->peak_mib, 0.01);
    EXPECT_GT(made.trace.ranks.front().forward_call_s.front(), 0);
}

TEST_F(CarriedRows, WriteABandAtATimeIntoAChecksum) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>(), {83, 45});
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.output = config::OutputKind::checksum;
    settings.patch = 16;
    const Made made = run(settings);
    ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
    if (!world_.is_root()) return;
    EXPECT_EQ(made.trace.verification.outcome, record::Verification::Outcome::passed)
        << testing::PrintToString(made.trace.verification.reasons);
}

}  // namespace
}  // namespace pb::run
