// `halo: carried` on 1 to 3 ranks: the whole image by the same engine, native bit for bit, torch within rounding,
// whatever bands and ranks there are.
#include "run/row_points.hpp"

#include <cstdlib>

namespace pb::run {
namespace {

using test::row_point;

class CarriedRows : public test::RowPoints {
  protected:
    void expect_whole_image(config::PointSettings settings, const std::vector<int64_t>& bands) {
        const Made whole = run_whole(settings);
        settings.halo.kind = config::HaloSetting::Kind::carried;
        for (const int64_t band : bands) {
            settings.patch = band;
            const Made made = run(settings);
            ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
            EXPECT_TRUE(made.bytes == whole.bytes) << "bands of " << band;  // both empty elsewhere
            if (!world_.is_root()) continue;
            expect_calls_compute_all(made.trace);
            if (settings.protocol.verify == config::VerifyMode::off) continue;
            expect_passed(made);
            EXPECT_TRUE(made.trace.verification.seam_decides);
        }
    }
};

TEST_F(CarriedRows, GiveTheWholeImageOfDncnn) {
    expect_whole_image(row_point(network::kind_of<network::DncnnShape>(), {83, 45}), {1, 30, 32, 64, 128});
}

TEST_F(CarriedRows, GiveTheWholeImageOfThePublishedUnet) {
    expect_whole_image(row_point(network::kind_of<network::UnetShape>(), {147, 37}), {32, 64, 256});
}

TEST_F(CarriedRows, GiveTheWholeImageOfThePublishedDrunet) {
    config::PointSettings settings = row_point(network::kind_of<network::DrunetShape>(), {150, 29});
    settings.protocol.verify = config::VerifyMode::off;  // bands of DRUNet with all their context take long
    expect_whole_image(settings, {64});
}

TEST_F(CarriedRows, OfTorchGiveTheWholeImageWithinRoundingInThePredictedMemory) {
    config::PointSettings settings = row_point(network::kind_of<network::UnetShape>(), {147, 37});
    settings.engine = EngineKind::torch;
    const Made whole = run_whole(settings);
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    const Made made = run(settings);
    expect_passed(made);
    expect_within_rounding(made, whole);
    if (!world_.is_root()) return;
    EXPECT_EQ(made.bytes.size(), size_t{147 * 37 * 3});
    EXPECT_NEAR(peak_mib(made.trace) / made.trace.prediction->peak_mib, 1, 0.1);
}

TEST_F(CarriedRows, TakeTheMemoryThatIsPredicted) {
    config::PointSettings settings = row_point(network::kind_of<network::DncnnShape>(), {208, 64});
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    expect_predicted_memory(settings);
}

/// A wide image, and a limit that its whole width does not fit.
class CarriedStrips : public CarriedRows {
  protected:
    [[nodiscard]] config::PointSettings strip_settings(EngineKind engine) const {
        config::PointSettings settings = row_point(network::kind_of<network::DncnnShape>(), {61, 401});
        settings.halo.kind = config::HaloSetting::Kind::carried;
        settings.engine = engine;
        settings.patch = 16;
        settings.memory_limit_mib = static_cast<int64_t>(0.85 * plan::predict(point_of(settings)).value().peak_mib);
        return settings;
    }
};

TEST_F(CarriedStrips, GiveTheWholeImageInTheMemoryThatIsPredicted) {
    const config::PointSettings settings = strip_settings(EngineKind::native);
    const Made made = run(settings), whole = run_whole(settings);
    ASSERT_TRUE(made.trace.point.strip_columns.has_value());
    expect_passed(made);
    EXPECT_TRUE(made.bytes == whole.bytes);
    if (!world_.is_root()) return;
    EXPECT_TRUE(made.trace.verification.seam_decides);
    expect_calls_compute_all(made.trace);
    EXPECT_NEAR(peak_mib(made.trace), made.trace.prediction->peak_mib, 0.01);
    EXPECT_LE(made.trace.prediction->peak_mib, static_cast<double>(settings.memory_limit_mib));
}

TEST_F(CarriedStrips, OfTorchGiveItWithinRounding) {
    const config::PointSettings settings = strip_settings(EngineKind::torch);
    const Made made = run(settings), whole = run_whole(settings);
    ASSERT_TRUE(made.trace.point.strip_columns.has_value());
    expect_passed(made);
    expect_within_rounding(made, whole);
}

TEST_F(CarriedStrips, AreWrittenOneByOneIntoAChecksumAndTellHowFarTheyAre) {
    config::PointSettings settings = strip_settings(EngineKind::native);
    settings.output = config::OutputKind::checksum;
    test::Steps told;
    expect_passed(run(settings, &told));
    const int64_t all = told.steps.back().second;
    EXPECT_EQ(std::ssize(told.steps), all + 1);
    for (int64_t done = 1; done <= all; ++done)
        EXPECT_EQ(told.steps[static_cast<size_t>(done)], std::pair(done, all)) << "after the first, which is 0";
}

TEST_F(CarriedRows, TellHowFarAPassIsLayerByLayer) {
    config::PointSettings settings = row_point(network::kind_of<network::DncnnShape>(), {83, 45});
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    test::Steps told;
    const Made made = run(settings, &told);
    ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
    ASSERT_GE(told.steps.size(), 20u) << "the layers of one step, at least";
    const int64_t all = told.steps.back().second;
    EXPECT_EQ(std::ssize(told.steps), all + 1) << "and nothing of the forward call that follows";
    for (int64_t done = 1; done <= all; ++done)
        EXPECT_EQ(told.steps[static_cast<size_t>(done)], std::pair(done, all)) << "after the first, which is 0";
}

TEST_F(CarriedRows, WriteABandAtATimeIntoAChecksum) {
    config::PointSettings settings = row_point(network::kind_of<network::DncnnShape>(), {83, 45});
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.output = config::OutputKind::checksum;
    settings.patch = 16;
    expect_passed(run(settings));
}

}  // namespace
}  // namespace pb::run
