// `halo: exchanged` on 6 ranks and fewer: the whole image by the same engine, native bit for bit, torch within
// rounding, and ranks that fail while their neighbours wait for rows.
#include "base/fault.hpp"
#include "comm/interruption.hpp"
#include "comm/rows/border_channel.hpp"
#include "plan/rows.hpp"
#include "run/pipeline/row_device.hpp"
#include "run/row_points.hpp"
#include "run/work.hpp"
#include "support/pipeline_scene.hpp"

#include <cstdlib>

namespace pb::run {
namespace {

/// Stands for NCCL where the memory of the device is that of the host.
class BordersInPlace final : public comm::DeviceBorders {
  public:
    explicit BordersInPlace(const comm::Communicator& ranks) : ranks_(ranks) {}
    [[nodiscard]] std::unique_ptr<comm::BorderChannel> open(const comm::NeighbourRanks& neighbours,
                                                            device::Stream& /*stream*/) override {
        return std::make_unique<comm::Neighbours>(ranks_, neighbours, size_t{1} << 20);
    }

  private:
    const comm::Communicator& ranks_;
};

class ExchangedRows : public test::RowPoints {
  protected:
    [[nodiscard]] config::PointSettings exchanged(Extent image, int64_t ranks) const {
        config::PointSettings settings = test::row_point(network::kind_of<network::DncnnShape>(), image);
        settings.halo.kind = config::HaloSetting::Kind::exchanged;
        settings.patch = 32;
        settings.ranks.count = ranks;
        return settings;
    }

    /// The point with a fault of rank 1; a point after it works.
    [[nodiscard]] record::PointTrace run_with_fault(const char* fault) {
        if (world_.rank() == 1) setenv("PATCHBENCH_FAULT", fault, 1);
        restart_faults();
        config::PointSettings settings = exchanged({20, 21}, 4);
        settings.protocol.verify = config::VerifyMode::off;
        const Made failed = run(settings);
        unsetenv("PATCHBENCH_FAULT");
        EXPECT_EQ(run(settings).trace.status, record::PointStatus::ok) << "after " << fault;
        return failed.trace;
    }
};

TEST_F(ExchangedRows, GiveTheWholeImageOnAnyNumberOfRanks) {
    const Made whole = run_whole(exchanged({83, 45}, 1));
    for (const int64_t ranks : {1, 2, 3, 4, 6}) {
        const Made made = run(exchanged({83, 45}, ranks));
        expect_passed(made);
        if (!world_.is_root()) continue;
        EXPECT_TRUE(made.bytes == whole.bytes) << ranks << " ranks";
        EXPECT_TRUE(made.trace.verification.seam_decides);
        expect_calls_compute_all(made.trace);
        for (const record::RankTrace& rank : made.trace.ranks) {
            const int neighbours = (rank.rank > 0 ? 1 : 0) + (rank.rank + 1 < ranks ? 1 : 0);
            EXPECT_EQ(rank.border_bytes, neighbours * 19 * 45 * 64 * 4) << rank.rank << " of " << ranks;
        }
    }
}

TEST_F(ExchangedRows, GiveTheWholeImageToMoreRanksThanSlabs) {
    const Made whole = run_whole(exchanged({9, 21}, 1));  // three tiles, the last one of a single row
    const Made made = run(exchanged({9, 21}, 6));
    expect_passed(made);
    EXPECT_TRUE(made.bytes == whole.bytes);  // both empty elsewhere
}

TEST_F(ExchangedRows, TakeTheMemoryThatIsPredicted) { expect_predicted_memory(exchanged({200, 64}, 3)); }

TEST_F(ExchangedRows, OfTorchGiveTheWholeImageWithinRoundingInThePredictedMemory) {
    config::PointSettings settings = exchanged({160, 40}, 3);
    settings.network = network::kind_of<network::UnetShape>();
    settings.engine = EngineKind::torch;
    const Made whole = run_whole(settings), made = run(settings);
    expect_passed(made);
    expect_within_rounding(made, whole);
    if (!world_.is_root()) return;
    for (const record::RankTrace& rank : made.trace.ranks) EXPECT_GT(rank.border_bytes, 0) << rank.rank;
    EXPECT_NEAR(peak_mib(made.trace) / made.trace.prediction->peak_mib, 1, 0.1);
}

TEST_F(ExchangedRows, GiveTheSameOnADeviceThroughMemoryOfTheHostAndFromDeviceToDevice) {
    if (world_.rank() >= 3) return;
    const Work work = make_work(point_of(exchanged(test::PipelineScene::kImage, 3)), world_.rank());
    const auto denoiser = engine::make_denoiser(
        engine::make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1), {.engine = EngineKind::native});
    for (const DType samples : {DType::u8, DType::f32}) {
        test::PipelineCase chosen;
        chosen.samples = samples;
        chosen.options.ranks = &world_;
        test::PipelineScene scene(chosen);
        const auto made_by = [&](Pipeline& pipeline) {
            test::SceneWindows windows(scene);
            test::SceneSink output(scene);
            BatchQueue batches(work.batches());
            PassLog log;
            for (int pass = 0; pass < 2; ++pass) {
                batches.begin_pass();
                pipeline.pass(batches, windows, output, log);
            }
            EXPECT_EQ(pipeline.border_bytes(),
                      (world_.rank() == 1 ? 2 : 1) * 19 * test::PipelineScene::kImage.w * 64 * 4);
            return output.made();
        };
        const RowRoom room = row_room(work, chosen.channels);
        const auto host = make_slab_pipeline(*denoiser, make_host_rows(chosen.options, room), work, chosen.options);
        const test::Made expected = made_by(*host);
        BordersInPlace in_place(world_);
        for (comm::DeviceBorders* const borders : {static_cast<BordersInPlace*>(nullptr), &in_place}) {
            chosen.options.device_borders = borders;
            const auto device =
                make_slab_pipeline(*denoiser, make_device_rows(chosen.options, samples, room), work, chosen.options);
            EXPECT_TRUE(made_by(*device) == expected);
            EXPECT_GT(device->forward_call(), 0);
        }
    }
}

TEST_F(ExchangedRows, ByNcclAreRefusedOnACpuWhereThereAreNeighbours) {
    config::StudySettings study = study_;
    study.exchange = ExchangeKind::nccl;
    Runner runner(world_, topology_, study);
    EXPECT_THROW((void)runner.run(point_of(exchanged({83, 45}, 6)), {}), UsageError);
    EXPECT_EQ(runner.run(point_of(exchanged({83, 45}, 1)), {}).status, record::PointStatus::ok);
}

TEST_F(ExchangedRows, TellHowFarAPassIsLayerByLayer) {
    test::Steps told;
    const Made made = run(exchanged({83, 45}, 4), &told);
    ASSERT_EQ(made.trace.status, record::PointStatus::ok) << made.trace.reason;
    if (world_.rank() >= 4) return;
    std::vector<std::pair<int64_t, int64_t>> layers;
    for (int64_t layer = 1; layer <= 19; ++layer) layers.emplace_back(layer, 19);
    EXPECT_EQ(told.steps, layers);
}

TEST_F(ExchangedRows, OfARankThatThrowsFailThePointOnAllRanks) {
    for (const char* const fault : {"gather:throw:1", "exchange:throw:7", "exchange:throw:19"}) {
        const record::PointTrace trace = run_with_fault(fault);
        EXPECT_EQ(trace.status, record::PointStatus::failed) << fault;
        if (!world_.is_root()) continue;
        EXPECT_THAT(trace.reason, testing::StartsWith("rank 1@")) << fault;
        EXPECT_THAT(trace.reason, testing::Not(testing::HasSubstr("rank 2@"))) << fault;
    }
}

TEST_F(ExchangedRows, OfARankThatRunsOutOfMemoryAreAPointWithoutMemory) {
    EXPECT_EQ(run_with_fault("exchange:memory:5").status, record::PointStatus::oom);
}

TEST_F(ExchangedRows, OfARankThatIsInterruptedEndThePointOnAllRanks) {
    {
        const comm::InterruptionGuard guard;
        if (world_.rank() == 1) raise(SIGUSR1);
        const record::PointTrace trace = run(exchanged({20, 21}, 4)).trace;
        EXPECT_EQ(trace.status, record::PointStatus::interrupted);
        EXPECT_TRUE(!world_.is_root() || trace.reason.find("SIGUSR1") != std::string::npos) << trace.reason;
    }
    const comm::InterruptionGuard guard;  // forgets the signal
    expect_passed(run(exchanged({20, 21}, 4)));
}

}  // namespace
}  // namespace pb::run
