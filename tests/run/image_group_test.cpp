// Images of one window each share batches. What each gives is what it gives alone: the same bytes, its own errors, its
// own verification.
#include "base/fault.hpp"
#include "base/stopwatch.hpp"
#include "image/image_file.hpp"
#include "run/weights_source.hpp"
#include "support/damage.hpp"
#include "support/on_ranks.hpp"
#include "support/shallow_dncnn.hpp"
#include "support/state_dict.hpp"

#include "patchbench/engine/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace pb::run {
namespace {

namespace fs = std::filesystem;

/// What is said of an image.
struct Result {
    record::PointStatus status = record::PointStatus::skipped;
    record::Verification verification;
    int64_t images_in_pass = 0;
    int64_t batch = 0;
    double seconds = 0;
    double stage_share = 0, cpu_share = 0;  // of the wall time of the first rank
    std::vector<std::string> notes;
    double repeated_s = 0;
};

void set_shares(const record::PointTrace& trace, Result& result) {
    if (trace.ranks.empty() || trace.ranks.front().wall_s.empty()) return;
    const record::RankTrace& rank = trace.ranks.front();
    for (const double seconds : rank.stage_s.front()) result.stage_share += seconds / rank.wall_s.front();
    result.cpu_share = rank.cpu_s.front() / rank.wall_s.front();
}

struct Scene {
    Extent extent;
    double sigma = 0.1;
    DType dtype = DType::u8;
};

class ImageGroupTest : public test::OnRanks {
  protected:
    ImageGroupTest() {
        if (world_.is_root()) {
            const network::DrunetShape small{.widths = {16, 32}, .blocks = 1};
            test::save_weights(engine::make_seeded_weights(small, 1), folder_ / "small.safetensors");
        }
        study_.previews = 0;
        world_.barrier();
    }
    ~ImageGroupTest() override { unsetenv("PATCHBENCH_FAULT"); }

    [[nodiscard]] fs::path input(size_t i) const { return folder_ / (std::to_string(i) + ".png"); }
    [[nodiscard]] fs::path output(const std::string& kind, size_t i) const {
        return folder_ / (kind + std::to_string(i) + ".png");
    }

    void write(const std::vector<Scene>& scenes) {
        scenes_ = scenes;
        for (size_t i = 0; i < scenes.size() && world_.is_root(); ++i) {
            const Extent extent = scenes[i].extent;
            image::Image image(extent, 3, DType::u8);
            for (int64_t k = 0; k < extent.pixels() * 3; ++k)
                image.as<uint8_t>()[k] = static_cast<uint8_t>((k * 7 + k / 131 * (29 + static_cast<int64_t>(i))) % 233);
            if (scenes[i].dtype == DType::u8) {
                image::save_image({.pixels = image.view()}, input(i));
                continue;
            }
            image::Image wide(extent, 3, DType::u16);
            for (int64_t k = 0; k < extent.pixels() * 3; ++k)
                wide.as<uint16_t>()[k] = static_cast<uint16_t>(250 * image.as<const uint8_t>()[k] + k % 7);
            image::save_image({.pixels = wide.view()}, input(i));
        }
        world_.barrier();
    }

    [[nodiscard]] config::PointSettings settings_of(size_t i) const {
        config::PointSettings settings;
        settings.network = network_;
        const bool has_gain = network_ == network::kind_of<network::DncnnShape>();
        settings.weights = has_gain ? dncnn_weights_ : (folder_ / "small.safetensors").string();
        if (has_gain) settings.trained_sigma = 0.1;
        settings.device = config::DeviceChoice::cpu;
        settings.engine = engine_;
        settings.dtype = dtype_;
        settings.patch = 64;
        settings.halo = halo_;
        settings.batch.count = 4;
        settings.threads.count = 1;
        settings.sigma = scenes_[i].sigma;
        settings.protocol.warmup_reps = 0;
        settings.protocol.min_reps = 1;
        settings.protocol.max_reps = 1;
        settings.protocol.forward_calls = 0;
        settings.protocol.verify_probes = 1;
        settings.protocol.verify_time_share = 0;
        settings.protocol.verify_whole_max_mpx = 0;
        settings.image.path = input(i);
        settings.image.height = i == 0 ? 5 : settings.image.height;  // has no effect, which is noted
        settings.image.noise_sigma = 0;
        return settings;
    }

    [[nodiscard]] plan::Point point_of(size_t i) const {
        WeightsCache weights;
        const auto shape_of = [&](const auto& settings, int64_t channels) {
            return weights.shape_of(settings, channels);
        };
        return plan::make_plan({study_, {settings_of(i)}, ""}, topology_, source_facts, shape_of).points.front();
    }

    void set_fault(const std::string& fault) {
        unsetenv("PATCHBENCH_FAULT");
        if (!fault.empty()) setenv("PATCHBENCH_FAULT", fault.c_str(), 1);
        restart_faults();
    }

    void run_alone() {
        Runner runner(world_, topology_, study_);
        runner.keep_engines();
        for (size_t i = 0; i < scenes_.size(); ++i) (void)runner.run(point_of(i), {.image = output("alone", i)});
        world_.barrier();
    }

    std::vector<Result> run_in_groups(const std::string& fault = "", std::optional<double> check_share = {}) {
        set_fault(fault);
        Runner runner(world_, topology_, study_);
        runner.keep_engines();
        if (check_share) runner.bound_verification(*check_share);
        std::vector<Result> results(scenes_.size());
        size_t page = 0;  // the current one of a file
        for (size_t i = 0; i < scenes_.size(); ++i) {
            page = i;
            runner.add({.point = point_of(i),
                        .files = {.image = output("group", i)},
                        .source = std::make_shared<ImageSource>(settings_of(i).image),
                        .turn = [&page, i] { page = i; },
                        .done =
                            [&, i](const ImageOutcome& outcome) {
                                EXPECT_EQ(outcome.user_error.empty(), i != unwritable_) << outcome.user_error;
                                EXPECT_EQ(page, i);
                                results[i] = {outcome.trace.status, outcome.trace.verification, outcome.images_in_pass,
                                              outcome.trace.point.batch.value_or(0),
                                              outcome.trace.wall_s.empty() ? 0 : outcome.trace.wall_s.front()};
                                set_shares(outcome.trace, results[i]);
                                results[i].repeated_s = outcome.trace.repeated_s;
                                results[i].notes = outcome.trace.point.notes;
                            }});
        }
        runner.finish_images();
        EXPECT_EQ(runner.num_waiting(), 0);
        set_fault("");
        world_.barrier();
        return results;
    }

    void expect_same_bytes() {
        for (size_t i = 0; i < scenes_.size() && world_.is_root(); ++i) {
            ASSERT_TRUE(fs::exists(output("alone", i))) << i;
            EXPECT_EQ(test::read_bytes(output("group", i)), test::read_bytes(output("alone", i))) << i;
        }
    }

    const test::SharedFolder folder_{world_};
    std::vector<Scene> scenes_;
    network::NetworkKind network_ = network::kind_of<network::DncnnShape>();
    std::string dncnn_weights_ = "seed:1";
    EngineKind engine_ = EngineKind::torch;
    config::HaloSetting halo_{config::HaloSetting::Kind::pixels, 8};
    Precision dtype_ = Precision::fp32;
    size_t unwritable_ = std::numeric_limits<size_t>::max();  // the image whose output cannot be written
};

/// Sizes that are no multiples of the alignment, noise levels that differ within a batch, sizes and types in turn.
TEST_F(ImageGroupTest, GivesTheBytesOfEachImageAlone) {
    write({{{40, 37}, 0.1},
           {{40, 37}, 0.05},
           {{40, 37}, 0.2},
           {{33, 48}, 0.1},
           {{33, 48}, 0.1},
           {{40, 37}, 0.15},
           {{90, 150}, 0.1},
           {{90, 150}, 0.07},
           {{40, 37}, 0.1},
           {{40, 37}, 0.1, DType::u16},
           {{40, 37}, 0.2, DType::u16}});
    constexpr std::array kWays{std::pair{EngineKind::torch, Precision::fp32},
                               std::pair{EngineKind::native, Precision::fp32},
                               std::pair{EngineKind::torch, Precision::bf16}};
    for (const auto network : {network::kind_of<network::DncnnShape>(), network::kind_of<network::DrunetShape>()})
        for (const auto& [engine, dtype] : kWays) {
            network_ = network;
            engine_ = engine;
            dtype_ = dtype;
            run_alone();
            const std::vector<Result> results = run_in_groups();
            for (const Result& result : results) EXPECT_EQ(result.status, record::PointStatus::ok);
            EXPECT_EQ(results[1].images_in_pass, 3);
            EXPECT_EQ(results[4].images_in_pass, 2);
            EXPECT_EQ(results[5].images_in_pass, 1);
            EXPECT_EQ(results[8].images_in_pass, 1);
            EXPECT_EQ(results[9].images_in_pass, 2) << "of 16 bits";
            if (world_.is_root()) {
                EXPECT_EQ(results[1].verification.outcome, record::Verification::Outcome::passed);
                EXPECT_GT(results[1].verification.windows_checked, 0);
            }
            expect_same_bytes();
        }
}

/// Bytes cannot hold what is not finite: what one image lost is not another's.
TEST_F(ImageGroupTest, FailsOfABatchTheImageWhoseValuesBytesCannotHold) {
    write(std::vector<Scene>(4, Scene{{40, 37}}));
    dncnn_weights_ = folder_ / "overflowing.safetensors";
    if (world_.is_root()) {
        test::save_weights(test::overflowing_dncnn(1e30F), dncnn_weights_);
        for (size_t i = 0; i < scenes_.size(); ++i) {
            image::Image image(scenes_[i].extent, 3, DType::u8);
            std::ranges::fill(image.bytes(), static_cast<std::byte>(100 + i));
            if (i == 2) image.as<uint8_t>()[(25 * 37 + 30) * 3] = 250;
            image::save_image({.pixels = image.view()}, input(i));
        }
    }
    world_.barrier();
    for (const Precision dtype : {Precision::fp32, Precision::bf16}) {
        dtype_ = dtype;
        const std::vector<Result> results = run_in_groups("", 0);
        for (size_t i = 0; i < results.size() && world_.is_root(); ++i) {
            EXPECT_EQ(results[i].images_in_pass, 4);
            EXPECT_EQ(results[i].verification.outcome,
                      i == 2 ? record::Verification::Outcome::failed : record::Verification::Outcome::passed)
                << i;
        }
    }
}

/// Eight images of a window are two batches of four on a rank: a third call of the network would fail.
TEST_F(ImageGroupTest, CallsTheNetworkOnceForABatch) {
    write(std::vector<Scene>(static_cast<size_t>(8 * world_.size()), Scene{{40, 37}}));
    for (const Result& result : run_in_groups("forward:throw:3+")) {
        EXPECT_EQ(result.status, record::PointStatus::ok);
        EXPECT_EQ(result.images_in_pass, 4 * world_.size());
        EXPECT_EQ(result.batch, 4);
        EXPECT_GT(result.seconds, 0);
        if (!world_.is_root()) continue;
        // Each image has its part of all times of the pass. One thread works; the whole of a pass would be four times.
        EXPECT_GT(result.stage_share, 0);
        EXPECT_LE(result.stage_share, 1.5);
        EXPECT_LE(result.cpu_share, 3);
    }
}

/// A row of two windows, and one of three.
TEST_F(ImageGroupTest, GivesEachImageTheTimeOfItsWindows) {
    write({{{64, 112}}, {{64, 160}}});
    const Stopwatch watch;
    const std::vector<Result> results = run_in_groups();
    EXPECT_EQ(results[1].images_in_pass, 2);
    if (!world_.is_root()) return;
    EXPECT_NEAR(results[0].seconds / results[1].seconds, 2.0 / 3, 1e-9);
    EXPECT_NEAR(results[0].repeated_s / results[1].repeated_s, 2.0 / 3, 1e-9);
    EXPECT_NEAR(results[0].cpu_share / results[1].cpu_share, 1, 1e-9);
    EXPECT_NEAR(results[0].stage_share / results[1].stage_share, 1, 1e-9);
    EXPECT_LT(results[0].seconds + results[1].seconds, watch.seconds());
}

TEST_F(ImageGroupTest, SharesABatchOfTheWindowsOfOneRankAndNoNotes) {
    write(std::vector<Scene>(3, Scene{{40, 37}}));
    const std::vector<Result> results = run_in_groups();
    for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].images_in_pass, 3);
        EXPECT_EQ(results[i].batch, ceil_div(3, world_.size()));
        const auto is_of_the_size = [](const std::string& note) { return note.starts_with("image.height"); };
        EXPECT_EQ(std::ranges::count_if(results[i].notes, is_of_the_size), i == 0 ? 1 : 0);
    }
}

TEST_F(ImageGroupTest, SharesABatchOfWindowsWithOtherCores) {
    write({{{100, 150}}, {{90, 150}}});
    run_alone();
    EXPECT_EQ(run_in_groups()[1].images_in_pass, 2);
    expect_same_bytes();
}

TEST_F(ImageGroupTest, RunsImagesInBandsOneByOne) {
    write(std::vector<Scene>(2, Scene{{64, 40}}));
    halo_ = {config::HaloSetting::Kind::carried, 0};
    run_alone();
    for (const Result& result : run_in_groups()) {
        EXPECT_EQ(result.status, record::PointStatus::ok);
        EXPECT_EQ(result.images_in_pass, 1);
    }
    expect_same_bytes();
}

TEST_F(ImageGroupTest, RunsEachImageAloneWhenTheirPassFails) {
    write(std::vector<Scene>(static_cast<size_t>(4 * world_.size()), Scene{{40, 37}}));
    run_alone();
    for (const Result& result : run_in_groups("forward:throw:1")) {
        EXPECT_EQ(result.status, record::PointStatus::ok);
        EXPECT_EQ(result.images_in_pass, 1);
    }
    expect_same_bytes();
}

/// Each is told as the page that it is, although all were read before.
TEST_F(ImageGroupTest, TellsOfEachThatFails) {
    write(std::vector<Scene>(static_cast<size_t>(4 * world_.size()), Scene{{40, 37}}));
    for (const Result& result : run_in_groups("forward:throw:1+"))
        EXPECT_EQ(result.status, record::PointStatus::failed);
}

TEST_F(ImageGroupTest, AnOutputThatCannotBeWrittenFailsItsImage) {
    write(std::vector<Scene>(static_cast<size_t>(4 * world_.size()), Scene{{40, 37}}));
    unwritable_ = 1;
    if (world_.is_root()) fs::create_directories(output("group", 1) / "a folder");
    world_.barrier();
    const std::vector<Result> results = run_in_groups();
    for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].images_in_pass, 4 * world_.size());
        EXPECT_EQ(fs::is_regular_file(output("group", i)), i != 1) << i;
    }
}

TEST_F(ImageGroupTest, AFaultInOnePlaceOfABatchFailsThatImage) {
    if (world_.size() > 1) GTEST_SKIP() << "the places of the fault are those of one rank";
    write(std::vector<Scene>(4, Scene{{40, 37}}));
    const std::vector<Result> results = run_in_groups("output:add:3");
    for (size_t i = 0; i < results.size(); ++i) {
        EXPECT_EQ(results[i].verification.outcome == record::Verification::Outcome::failed, i == 2) << i;
        EXPECT_EQ(fs::exists(output("group", i)), i != 2) << i;
    }
}

/// The first image is computed again, and those whose network did nothing; the others are only looked at.
TEST_F(ImageGroupTest, ABudgetLeavesTheChecksThatCostNothing) {
    if (world_.size() > 1) GTEST_SKIP() << "the places of the fault are those of one rank";
    write(std::vector<Scene>(8, Scene{{40, 37}}));
    const auto checked = [](const std::vector<Result>& results) {
        std::vector<int64_t> windows;
        for (const Result& result : results) windows.push_back(result.verification.windows_checked);
        return windows;
    };
    EXPECT_EQ(checked(run_in_groups("", 0.05)), (std::vector<int64_t>{1, 0, 0, 0, 0, 0, 0, 0}));
    for (const char* fault : {"output:nan:7", "output:constant:7", "output:identity:7"}) {
        const std::vector<Result> results = run_in_groups(fault, 0.05);
        EXPECT_EQ(results[6].verification.outcome, record::Verification::Outcome::failed) << fault;
    }
    EXPECT_EQ(run_in_groups("output:add:1", 0.05)[0].verification.outcome, record::Verification::Outcome::failed);
}

/// What verification finds within a budget: every wrong image of those that it computes again, and these are as many as
/// the budget says (1 of 5 here, after the first). A slightly wrong one beside them passes.
TEST_F(ImageGroupTest, ABudgetFindsAWrongWindowInWhatItComputesAgain) {
    if (world_.size() > 1) GTEST_SKIP() << "the places of the fault are those of one rank";
    write(std::vector<Scene>(24, Scene{{40, 37}}));
    constexpr double kShare = 0.2;
    std::set<size_t> checked;
    const std::vector<Result> sound = run_in_groups("", kShare);
    for (size_t i = 0; i < sound.size(); ++i)
        if (sound[i].verification.windows_checked > 0) checked.insert(i);
    EXPECT_EQ(checked.size(), 4U);
    for (const size_t wrong : {*checked.begin(), *checked.rbegin(), *checked.begin() + 1}) {
        const std::vector<Result> results = run_in_groups("output:add:" + std::to_string(wrong + 1), kShare);
        for (size_t i = 0; i < results.size(); ++i)
            EXPECT_EQ(results[i].verification.outcome == record::Verification::Outcome::failed,
                      i == wrong && checked.count(i) == 1)
                << wrong << ' ' << i;
    }
}

/// The second window of the second image, which has six: its output as a whole is not that of its input, nor constant.
TEST_F(ImageGroupTest, AWindowThatLooksWrongIsComputedAgainWhateverTheBudget) {
    if (world_.size() > 1) GTEST_SKIP() << "the places of the fault are those of one rank";
    write(std::vector<Scene>(2, Scene{{90, 150}}));
    for (const char* fault : {"output:identity:8", "output:nan:8"}) {
        const std::vector<Result> results = run_in_groups(fault, 0.05);
        EXPECT_EQ(results[0].verification.outcome, record::Verification::Outcome::passed) << fault;
        EXPECT_EQ(results[1].verification.outcome, record::Verification::Outcome::failed) << fault;
        EXPECT_EQ(results[1].images_in_pass, 2);
    }
}

}  // namespace
}  // namespace pb::run
