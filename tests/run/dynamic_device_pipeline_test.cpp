// The pipeline of a GPU rank, on the CPU, with batches from the counter that all ranks share.
#include "comm/communicator.hpp"
#include "support/blend_denoiser.hpp"
#include "support/pipeline_scene.hpp"

#include <gtest/gtest.h>

namespace pb::test {
namespace {

class DynamicDevicePipeline : public testing::Test {
  protected:
    /// Every pixel of the picture is written by one rank, with the bits of the host pipeline.
    void expect_whole(const PipelineCase& chosen, bool ask_early) {
        BlendDenoiser denoiser;
        const auto expected = made_by_host(chosen, denoiser);
        PipelineScene scene(chosen);
        const run::Work work = scene.work();
        const auto pipeline =
            run::make_device_pipeline(denoiser, work, chosen.options, chosen.channels, chosen.samples);
        run::BatchQueue batches(work.batches(), world_, ask_early);
        for (int pass = 0; pass < 3; ++pass) {
            SceneWindows windows(scene);
            SceneSink output(scene);
            run::PassLog log;
            batches.begin_pass();
            pipeline->pass(batches, windows, output, log);
            expect_shared_out(output, scene, expected);
        }
    }

  private:
    /// Over all ranks: each pixel once, and a pixel that this rank wrote as it should be.
    void expect_shared_out(const SceneSink& output, const PipelineScene& scene, const Made& expected) {
        const std::vector<double> mine(output.times_written().begin(), output.times_written().end());
        std::vector<double> sum(mine.size());
        for (const auto& rank : world_.all_gather(mine))
            for (size_t i = 0; i < sum.size(); ++i) sum[i] += rank[i];
        EXPECT_EQ(sum, std::vector<double>(sum.size(), 1.0));
        const size_t pixel_bytes = scene.slab_of(nullptr).pixels.pixel_bytes();
        for (size_t i = 0; i < mine.size(); ++i) {
            if (mine[i] == 0) continue;
            const std::byte* const pixel = &output.made().pixels[i * pixel_bytes];
            ASSERT_EQ(std::memcmp(pixel, &expected.pixels[i * pixel_bytes], pixel_bytes), 0);
            ASSERT_EQ(output.made().num_lost[i], expected.num_lost[i]);
        }
    }

    const comm::Communicator world_ = comm::Communicator::world();
};

TEST_F(DynamicDevicePipeline, TheRanksWriteEachPixelOnce) {
    for (const int64_t slots : {1, 2, 3})
        for (const config::LastBatch last_batch : {config::LastBatch::pad, config::LastBatch::ragged})
            for (const bool overlap : {false, true})
                for (const bool ask_early : {false, true}) {
                    PipelineCase chosen;
                    chosen.batch = 2;
                    chosen.last_batch = last_batch;
                    chosen.options.slots = slots;
                    chosen.options.overlap = overlap;
                    expect_whole(chosen, ask_early);
                }
}

}  // namespace
}  // namespace pb::test
