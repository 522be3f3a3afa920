// Verification judges: pixels that are wrong by little, in one window, one channel or one sample, on one rank, fail
// with the rank and the place, whatever the output; right ones pass.
#include "base/fault.hpp"
#include "run/verify/output_scan.hpp"
#include "support/environment_variable.hpp"
#include "support/load_image.hpp"
#include "support/on_ranks.hpp"
#include "support/relatives.hpp"
#include "support/shallow_dncnn.hpp"
#include "support/small_point.hpp"
#include "support/state_dict.hpp"

#include "patchbench/engine/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace pb::run {
namespace {

namespace fs = std::filesystem;
using test::overflowing_dncnn;
using test::shallow_dncnn;
using testing::HasSubstr;
using testing::Not;

/// 4 x 3 windows; the last ones are cut by the border in both directions.
config::PointSettings point_with(const std::string& weights) {
    config::PointSettings settings = test::computed_point({85, 70});
    settings.weights = weights;
    settings.output = config::OutputKind::memory;
    settings.protocol.verify_probes = 12;
    return settings;
}

class VerificationTest : public test::OnRanks {
  protected:
    VerificationTest() {
        if (world_.is_root()) {
            test::save_weights(shallow_dncnn(), folder_ / "shallow.safetensors");
            image::Image image({85, 70}, 3, DType::u8);
            for (int64_t i = 0; i < 85 * 70 * 3; ++i) image.as<uint8_t>()[i] = static_cast<uint8_t>(40 + i * 7 % 160);
            image::save_image({.pixels = image.view()}, folder_ / "bytes.png");
            image::save_image({.pixels = image.view()}, folder_ / "bytes.tif");
        }
        study_.previews = 0;
        world_.barrier();
    }

    [[nodiscard]] config::PointSettings small_point() const { return point_with(folder_ / "shallow.safetensors"); }
    [[nodiscard]] int faulty_rank() const { return world_.size() - 1; }

    /// `fault` on the last rank, or on all.
    record::PointTrace run(const config::PointSettings& settings, const std::string& fault = "", bool on_all = false,
                           const std::string& file = "") {
        const bool is_faulty = !fault.empty() && (on_all || world_.rank() == faulty_rank());
        const test::EnvironmentVariable planted("PATCHBENCH_FAULT", is_faulty ? std::optional(fault) : std::nullopt);
        restart_faults();
        Runner runner(world_, topology_, study_);
        const std::string name = file.empty() ? default_file(settings) : file;
        record::PointTrace trace =
            runner.run(point_of(settings), {.image = name.empty() ? fs::path{} : folder_ / name});
        world_.barrier();
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        return trace;
    }
    static std::string default_file(const config::PointSettings& settings) {
        return settings.output == config::OutputKind::file ? "out.tif" : "";
    }

    static std::string said(const record::PointTrace& trace) {
        std::string all;
        for (const std::string& reason : trace.verification.reasons) all += reason + '\n';
        return all;
    }

    void expect_failed(const record::PointTrace& trace, const std::vector<std::string>& words) {
        if (!world_.is_root()) return;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::failed);
        for (const std::string& word : words) EXPECT_THAT(said(trace), HasSubstr(word));
        EXPECT_EQ(trace.output_file, "") << "a wrong image was written";
    }
    void expect_passed(const record::PointTrace& trace) {
        if (!world_.is_root()) return;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed) << said(trace);
    }

    /// Held and streamed, floats and bytes, kept and not.
    [[nodiscard]] std::vector<config::PointSettings> every_output() const {
        std::vector<config::PointSettings> all(5, small_point());
        all[1].image.path = folder_ / "bytes.png";  // decoded as a whole
        all[1].image.noise_sigma = 0;
        all[2].output = config::OutputKind::file;
        all[3] = all[2];
        all[3].image.path = folder_ / "bytes.tif";  // read by windows
        all[3].image.noise_sigma = 0;
        all[4].output = config::OutputKind::checksum;
        return all;
    }
    /// Saves the weights of a network that adds this many levels of 8 bits to its input.
    [[nodiscard]] std::string save_shift(int levels) {
        engine::Weights weights = shallow_dncnn();
        for (auto& [name, layer] : weights.convolutions) {
            std::ranges::fill(layer.weight, 0.F);
            layer.bias.assign(static_cast<size_t>(layer.out_channels),
                              name == "out_conv" ? static_cast<float>(levels) / 255 : 0.F);
        }
        const fs::path file = folder_ / "shift.safetensors";
        if (world_.is_root()) test::save_weights(weights, file);
        world_.barrier();
        return file;
    }
    /// An image of 0 and `spots`, but for window `textured`, if any; held and streamed.
    [[nodiscard]] std::vector<config::PointSettings> dark_points(const std::string& weights, int64_t textured,
                                                                 uint8_t spots) {
        if (world_.is_root()) {
            image::Image image({85, 70}, 3, DType::u8);
            for (int64_t i = 0; i < 85 * 70 * 3; ++i) {
                const bool is_textured = i / 210 / 24 * 3 + i % 210 / 72 == textured;
                image.as<uint8_t>()[i] = is_textured ? static_cast<uint8_t>(40 + i * 7 % 160) : i % 5 == 0 ? spots : 0;
            }
            image::save_image({.pixels = image.view()}, folder_ / "dark.tif");
        }
        world_.barrier();
        std::vector<config::PointSettings> all(2, point_with(weights));
        all[1].output = config::OutputKind::file;
        for (config::PointSettings& settings : all) {
            settings.image.path = folder_ / "dark.tif";
            settings.image.noise_sigma = 0;
            settings.protocol.verify_probes = 1;
            settings.protocol.verify_time_share = 0;
        }
        return all;
    }
    static std::string name(const config::PointSettings& settings) {
        return std::string(name_of(settings.output)) + ' ' + settings.image.path;
    }
    /// The second window of the faulty rank, which is spoilt.
    [[nodiscard]] int64_t spoilt_window() const { return shard(12, faulty_rank(), world_.size()).begin + 1; }
    [[nodiscard]] std::string rank_name() const {  // of a single rank there is none
        return world_.size() == 1 ? "" : "rank " + std::to_string(faulty_rank()) + "@";
    }

    const test::SharedFolder folder_{world_};
};

TEST_F(VerificationTest, RightOutputsPass) {
    for (const config::PointSettings& settings : every_output()) {
        SCOPED_TRACE(name(settings));
        const record::PointTrace trace = run(settings);
        expect_passed(trace);
        if (!world_.is_root()) continue;
        EXPECT_EQ(trace.verification.windows_checked, 12);
        const bool is_bytes = settings.output == config::OutputKind::file || !settings.image.path.empty();
        EXPECT_LE(trace.verification.window_error.value(), is_bytes ? 0.5 / 255 + 1e-6 : 0);
    }
}

TEST_F(VerificationTest, TheNoiseIsThatOfTheImageWhateverTheNetworkIsTold) {
    config::PointSettings settings = small_point();
    settings.sigma = 2 * settings.image.noise_sigma;
    expect_passed(run(settings));
}

TEST_F(VerificationTest, AWindowThatIsWrongByLittleFailsWithRankAndPlace) {
    for (const config::PointSettings& settings : every_output())
        for (const char* action : {"add", "shift", "channel"}) {
            SCOPED_TRACE(name(settings) + ' ' + action);
            expect_failed(run(settings, std::string("output:") + action + ":2"),
                          {rank_name(), "windows differ", "window " + std::to_string(spoilt_window()) + ","});
        }
}

TEST_F(VerificationTest, OneSampleOfTheLastChannelThatIsNotANumberFails) {
    config::PointSettings settings = small_point();
    const record::PointTrace held = run(settings, "output:sample:2");
    expect_failed(held, {rank_name(), "windows are not finite", "window " + std::to_string(spoilt_window()) + ",",
                         "channel 2", "1 output samples are unwritten or not finite, the first at row"});
    settings.output = config::OutputKind::checksum;
    expect_failed(run(settings, "output:sample:2"), {rank_name(), "1 output samples are not finite"});
    settings = every_output()[3];
    expect_failed(run(settings, "output:sample:2"), {rank_name(), "windows differ", "channel 2"});
}

// A held output is scanned by bands of 256 rows.
TEST_F(VerificationTest, ASampleThatIsNotANumberIsPlacedInTheWholeImage) {
    config::PointSettings settings = small_point();
    settings.image.height = 300;
    settings.image.width = 24;
    const Range windows = shard(13, faulty_rank(), world_.size());
    expect_failed(run(settings, "output:sample:" + std::to_string(windows.size())),
                  {"the first at row 299, column 23, channel 2"});
}

TEST_F(VerificationTest, AHugeSampleOfTheInputIsPlacedInTheWholeImage) {
    if (world_.is_root()) {
        image::Image image({300, 24}, 3, DType::f32);
        std::fill_n(image.as<float>(), image.num_samples(), 0.5F);
        image.as<float>()[(299 * 24 + 7) * 3] = 2e38F;
        image::save_image({.pixels = image.view()}, folder_ / "huge.npy");
        test::save_weights(overflowing_dncnn(1e30F), folder_ / "white.safetensors");
    }
    world_.barrier();
    config::PointSettings settings = point_with(folder_ / "white.safetensors");
    settings.image.path = folder_ / "huge.npy";
    settings.image.noise_sigma = 0;
    const record::PointTrace trace = run(settings);
    expect_failed(trace, {"the input holds 2e+38 at row 299, column 7"});
    if (!world_.is_root()) return;
    EXPECT_GT(trace.verification.pixels_not_finite, trace.verification.pixels_unwritten) << "infinity was written";
}

TEST_F(VerificationTest, TheLargestErrorIsThatOfAnyRank) {
    const record::PointTrace trace = run(small_point(), "output:add:1");
    if (!world_.is_root()) return;
    EXPECT_GT(trace.verification.window_error.value(), 5e-4);
}

TEST_F(VerificationTest, ASeamIsPlaced) {
    if (world_.size() > 1) GTEST_SKIP() << "the place of the fault is that of one rank";
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::exact;
    settings.protocol.verify_whole_max_mpx = 1;
    // The sixth window has its core at row 24, column 48. Differences are mapped by cells of 4 x 4 pixels.
    expect_failed(run(settings, "output:nan:6"), {"differs from the whole image", "near row 26, column 50"});
}

// Bytes cannot hold what is not finite, so the values are counted before they become bytes.
TEST_F(VerificationTest, ValuesThatBytesCannotHoldFail) {
    if (world_.is_root()) {
        image::Image image({85, 70}, 3, DType::u8);
        std::ranges::fill(image.bytes(), std::byte{100});
        image.as<uint8_t>()[(50 * 70 + 33) * 3] = 250;
        image::save_image({.pixels = image.view()}, folder_ / "bright.tif");
        for (const float to : {1e30F, -1e30F})
            test::save_weights(overflowing_dncnn(to), folder_ / (to > 0 ? "white.safetensors" : "black.safetensors"));
    }
    world_.barrier();
    const auto with = [&](const char* weights, config::OutputKind output, Precision dtype, Layout layout) {
        SCOPED_TRACE(std::string(weights) + ' ' + std::string(name_of(output)) + ' ' + std::string(name_of(dtype)));
        config::PointSettings settings = point_with(folder_ / weights);
        settings.image.path = folder_ / "bright.tif";
        settings.image.noise_sigma = 0;
        settings.output = output;
        settings.engine = EngineKind::torch;
        settings.dtype = dtype;
        settings.layout = layout;
        settings.protocol.warmup_reps = 1;
        expect_failed(run(settings), {"27 values of the network were not finite", "windows are not finite: window 7"});
    };
    for (const char* weights : {"white.safetensors", "black.safetensors"})
        for (const auto output : {config::OutputKind::memory, config::OutputKind::file, config::OutputKind::checksum})
            with(weights, output, Precision::fp32, Layout::channels_last);
    with("white.safetensors", config::OutputKind::memory, Precision::bf16, Layout::channels_last);
    with("black.safetensors", config::OutputKind::file, Precision::bf16, Layout::contiguous);
    with("black.safetensors", config::OutputKind::checksum, Precision::fp32, Layout::contiguous);
}

TEST_F(VerificationTest, TheIdentityAndAConstantAreNoOutputs) {
    for (config::PointSettings settings : every_output()) {
        // Without the comparison with the reference these must be seen, too.
        settings.protocol.verify_probes = 1;
        settings.protocol.verify_time_share = 0;
        SCOPED_TRACE(name(settings));
        expect_failed(run(settings, "output:constant:1+", true), {"the output is constant"});
        if (settings.output == config::OutputKind::file && settings.image.path.empty()) continue;  // rounded to bytes
        expect_failed(run(settings, "output:identity:1+", true), {"the output equals the input"});
    }
}

/// An image of rows that are constant, each on a rank of its own.
TEST_F(VerificationTest, AnInputIsConstantWhereAllRanksReadOneValue) {
    image::Image in({1, 3}, 1, DType::f32), out(in.extent(), 1, DType::f32);
    std::fill_n(in.as<float>(), 3, static_cast<float>(world_.rank()));
    std::fill_n(out.as<float>(), 3, 0.5F);
    TrivialOutput found;
    found.add(in, out);
    found.agree(world_);
    EXPECT_EQ(found.is_constant(), world_.size() > 1);
}

TEST_F(VerificationTest, TheChangeIsThatOfSamplesThatAreFiniteInBoth) {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    image::Image in({1, 4}, 1, DType::f32), out(in.extent(), 1, DType::f32);
    std::ranges::copy(std::array{0.25F, kNan, 0.25F, 0.75F}, in.as<float>());
    std::ranges::copy(std::array{0.5F, 0.5F, kNan, 7.0F}, out.as<float>());
    TrivialOutput found;
    EXPECT_FALSE(found.mean_shift() || found.rms_change());
    found.add(in, out);
    found.agree(world_);
    EXPECT_EQ(found.mean_shift(), 0.25);
    EXPECT_EQ(found.rms_change(), 0.25);
}

TEST_F(VerificationTest, TheChangeIsThatOfAllRanks) {
    image::Image in({1, 4}, 1, DType::f32), out(in.extent(), 1, DType::f32);
    std::fill_n(in.as<float>(), 4, 0.25F);
    std::fill_n(out.as<float>(), 4, world_.is_root() ? 1.0F : 0.5F);
    TrivialOutput found;
    found.add(in, out);
    found.agree(world_);
    const double others = world_.size() - 1;
    EXPECT_DOUBLE_EQ(found.rms_change().value(), std::sqrt((0.5625 + others * 0.0625) / (1 + others)));
}

TEST_F(VerificationTest, AConstantImageMayStayConstant) {
    if (world_.is_root()) {
        image::Image image({85, 70}, 3, DType::f32);
        image::save_image({.pixels = image.view()}, folder_ / "black.npy");
    }
    world_.barrier();
    config::PointSettings settings = small_point();
    settings.image.path = folder_ / "black.npy";
    settings.image.noise_sigma = 0;
    EXPECT_THAT(said(run(settings, "output:identity:1+", true)), Not(HasSubstr("equals the input")));
}

TEST_F(VerificationTest, TheInputIsRightWhereTheNetworkLeavesIt) {
    const std::string weights = save_shift(0);
    for (config::PointSettings settings : every_output()) {
        settings.weights = weights;
        SCOPED_TRACE(name(settings));
        expect_passed(run(settings));
    }
}

// One rank streams 12 windows and looks at 8 of them first: windows 0 and 9 are not among these.
TEST_F(VerificationTest, ADarkImageMayBecomeBlackButNotGreyAndNotOnlyInPart) {
    const std::string weights = save_shift(-5);
    for (const int64_t place : {-1, 0, 5, 9})
        for (const config::PointSettings& settings : dark_points(weights, place, 1)) {
            SCOPED_TRACE(name(settings) + ' ' + std::to_string(place));
            expect_passed(run(settings));
            expect_failed(run(settings, "output:constant:1+", true), {"the output is constant"});
            expect_failed(run(settings, "output:identity:1+", true), {"the output equals the input"});
        }
}

TEST_F(VerificationTest, AnEngineThatDoesNothingFailsWhereOneWindowAloneTells) {
    const std::string weights = save_shift(-5);
    for (const int64_t place : {0, 5, 9})
        for (const config::PointSettings& settings : dark_points(weights, place, 0)) {
            SCOPED_TRACE(name(settings) + ' ' + std::to_string(place));
            expect_passed(run(settings));
            expect_failed(run(settings, "output:identity:1+", true), {"the output equals the input"});
        }
}

TEST_F(VerificationTest, ARankWithOtherWeightsDoesNotConfirmItself) {
    if (world_.size() == 1) GTEST_SKIP() << "one rank has nobody to differ from";
    for (const config::PointSettings& settings : every_output()) {
        SCOPED_TRACE(name(settings));
        const record::PointTrace trace = run(settings, "weights:change:1");
        expect_failed(trace, {rank_name(), "weights differ from those of rank 0"});
        if (settings.output != config::OutputKind::checksum) expect_failed(trace, {"windows differ"});
    }
}

TEST_F(VerificationTest, TheWindowThatLooksWorstIsAmongTheProbes) {
    config::PointSettings settings = small_point();
    settings.protocol.verify_probes = 1;
    settings.protocol.verify_time_share = 0;
    for (const char* action : {"shift", "nan"}) {
        const record::PointTrace trace = run(settings, std::string("output:") + action + ":3");
        expect_failed(trace, {rank_name(), "window " + std::to_string(spoilt_window() + 1) + ","});
    }
}

TEST_F(VerificationTest, AWindowThatMayStayAsItWasTakesNoOthersPlace) {
    if (world_.size() > 1) GTEST_SKIP() << "each rank would need such a window";
    engine::Weights weights = shallow_dncnn();
    for (auto& [name, convolution] : weights.convolutions)
        std::fill(convolution.bias.begin(), convolution.bias.end(), 0.0F);
    test::save_weights(weights, folder_ / "unbiased.safetensors");
    image::Image image({85, 70}, 3, DType::f32);
    const int64_t count = image.extent().pixels() * 3;
    std::fill_n(image.as<float>(), count, 0.0F);  // black stays black
    for (int64_t i = count / 2; i < count; ++i) image.as<float>()[i] = static_cast<float>(i % 7) / 7;
    image::save_image({.pixels = image.view()}, folder_ / "half.npy");
    config::PointSettings settings = point_with(folder_ / "unbiased.safetensors");
    settings.image.path = folder_ / "half.npy";
    settings.image.noise_sigma = 0;
    settings.protocol.verify_probes = 1;
    settings.protocol.verify_time_share = 0;
    expect_passed(run(settings));
    expect_failed(run(settings, "output:constant:8"), {"window 7,"});
}

TEST_F(VerificationTest, TheShareOfTimeAddsWindowsToTheProbes) {
    config::PointSettings settings = small_point();
    settings.protocol.verify_probes = 1;
    settings.protocol.verify_time_share = 0;
    const record::PointTrace few = run(settings);
    settings.protocol.verify_time_share = 100;
    const record::PointTrace all = run(settings);
    settings.protocol.verify_time_share = 0;
    settings.protocol.verify = config::VerifyMode::full;
    const record::PointTrace full = run(settings);
    if (!world_.is_root()) return;
    EXPECT_EQ(few.verification.windows_checked, world_.size()) << "one of each rank";
    EXPECT_EQ(all.verification.windows_checked, 12);
    EXPECT_EQ(full.verification.windows_checked, 12);
}

TEST_F(VerificationTest, AnExactHaloIsHeldToTheWholeImage) {
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::exact;
    settings.protocol.verify_probes = 1;
    settings.protocol.verify_time_share = 0;
    for (const double whole_mpx : {1.0, 0.0}) {
        settings.protocol.verify_whole_max_mpx = whole_mpx;
        settings.protocol.verify_probes = whole_mpx > 0 ? 1 : 100;
        const record::PointTrace right = run(settings);
        expect_passed(right);
        if (world_.is_root()) {
            EXPECT_TRUE(right.verification.seam_decides);
            EXPECT_EQ(right.verification.seam_against_whole_image, whole_mpx > 0);
            EXPECT_EQ(right.verification.seam_error.value(), 0);
        }
        expect_failed(run(settings, "output:add:1+"), {"with an exact halo the tiled output differs from the whole"});
    }
    settings.halo = {config::HaloSetting::Kind::pixels, 0};
    const record::PointTrace short_halo = run(settings);
    expect_passed(short_halo);
    if (world_.is_root()) {
        EXPECT_GT(short_halo.verification.seam_error.value(), 0) << "what is compared is not the output itself";
        EXPECT_FALSE(short_halo.verification.seam_decides);
    }
}

TEST_F(VerificationTest, EveryPublishedNetworkIsHeldToItsReference) {
    for (const auto network : {network::kind_of<network::DrunetShape>(), network::kind_of<network::UnetShape>()}) {
        config::PointSettings settings = point_with("seed:1");
        settings.network = network;
        SCOPED_TRACE(name_of(network));
        expect_passed(run(settings));
        expect_failed(run(settings, "output:add:2"), {rank_name(), "windows differ"});
    }
}

TEST_F(VerificationTest, AWindowOfEachRankIsHeldToDoublePrecisionWhereAskedFor) {
    EXPECT_FALSE(run(small_point()).verification.fp64_error);
    for (config::PointSettings settings : every_output()) {
        SCOPED_TRACE(name(settings));
        settings.protocol.verify_fp64 = true;
        const record::PointTrace right = run(settings);
        expect_passed(right);
        if (world_.is_root()) {
            const bool is_bytes = settings.output == config::OutputKind::file || !settings.image.path.empty();
            EXPECT_LE(right.verification.fp64_error.value(), is_bytes ? 0.5 / 255 + 1e-5 : 1e-5);
            EXPECT_GT(right.verification.fp64_error.value(), 0) << "fp32 rounds";
        }
        const record::PointTrace wrong = run(settings, "output:add:1+");
        expect_failed(wrong, {rank_name(), "double precision"});
        if (!world_.is_root()) continue;
        EXPECT_GT(wrong.verification.fp64_error.value(), right.verification.fp64_error.value()) << "of any rank";
    }
}

TEST_F(VerificationTest, DoublePrecisionOfAWindowAloneIsNotThatOfTheImage) {
    Runner runner(world_, topology_, study_);  // it remembers results in double precision
    config::PointSettings settings = point_with("seed:1");
    settings.engine = EngineKind::native;
    settings.image = {.height = 128, .width = 64};
    settings.patch = 64;  // of the whole width, as bands are
    settings.batch.count = 1;
    settings.protocol.verify_fp64 = true;
    using Kind = config::HaloSetting::Kind;
    for (const config::HaloSetting halo : {config::HaloSetting{Kind::pixels, 0}, {Kind::carried, 0}}) {
        settings.halo = halo;
        const record::PointTrace trace = runner.run(point_of(settings), {});
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        expect_passed(trace);
    }
}

TEST_F(VerificationTest, AChecksumCannotBeCheckedWindowByWindow) {
    config::PointSettings settings = small_point();
    settings.output = config::OutputKind::checksum;
    settings.protocol.verify = config::VerifyMode::full;
    EXPECT_THROW((void)plan::make_plan({study_, {settings}, ""}, topology_, source_facts), Error);
}

TEST_F(VerificationTest, PixelsThatPassThroughASimulatedDeviceAreCheckedToo) {
    config::PointSettings settings = point_with("seed:1");
    settings.engine = EngineKind::timed;
    settings.timed.per_window_s = 0;
    settings.image.channels = 1;
    for (const auto output : {config::OutputKind::memory, config::OutputKind::file, config::OutputKind::checksum}) {
        settings.output = output;
        SCOPED_TRACE(name_of(output));
        expect_passed(run(settings));
        for (const char* action : {"add", "shift", "constant"}) {
            if (output == config::OutputKind::file && action == std::string("add")) continue;  // rounded away
            SCOPED_TRACE(action);
            const record::PointTrace trace = run(settings, std::string("output:") + action + ":2");
            expect_failed(trace, {});
        }
    }
}

TEST_F(VerificationTest, RelativesOfTheNetworksArePlannedAndRunByTheirOwnShape) {
    for (const network::NetworkShape& shape : test::small_relatives()) {
        SCOPED_TRACE(network::to_text(shape));
        const fs::path file = folder_ / "relative.safetensors";
        if (world_.is_root()) test::save_weights(engine::make_seeded_weights(shape, 5), file);
        world_.barrier();
        config::PointSettings settings = point_with(file);
        settings.network = network::kind_of(shape);
        settings.halo = {config::HaloSetting::Kind::exact, 0};
        Runner runner(world_, topology_, study_);
        const plan::Point point =
            plan::make_plan({study_, {settings}, ""}, topology_, source_facts, runner.network_lookup()).points.front();
        EXPECT_EQ(point.relative, shape);
        EXPECT_EQ(point.halo, network::network_facts(shape).exact_halo);
        const record::PointTrace trace = runner.run(point, {});
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        expect_passed(trace);
        world_.barrier();
    }
}

// Quality, by shipped weights on a scene: what a factor lost on both sides of the comparison would cost.

TEST_F(VerificationTest, ShippedWeightsDenoiseAtTheLevelTheyAreToldAndTheNoiseIsOfThatLevel) {
    config::PointSettings settings = small_point();
    settings.weights = "default";
    settings.halo.kind = config::HaloSetting::Kind::exact;
    settings.patch = 64;
    settings.image.height = 128;
    settings.image.width = 128;
    struct Case {
        double sigma, noisy_db, denoised_db;
    };
    for (const auto [sigma, noisy_db, denoised_db] : {Case{0.1, 20.0, 29.0}, Case{0.05, 26.0, 32.0}}) {
        settings.image.noise_sigma = sigma;
        const record::PointTrace trace = run(settings);
        expect_passed(trace);
        if (!world_.is_root()) continue;
        EXPECT_NEAR(trace.quality->psnr_noisy_db, noisy_db, 0.5) << sigma;
        EXPECT_GT(trace.quality->psnr_denoised_db, denoised_db) << sigma;
    }
}

// The tolerance of bf16 is larger than what there is to denoise.
TEST_F(VerificationTest, LowPrecisionDoesNotHideThatLittleIsDenoised) {
    for (config::PointSettings settings : every_output()) {
        if (!settings.image.path.empty()) continue;  // they have no noise
        settings.weights = "default";
        settings.dtype = Precision::bf16;
        settings.protocol.verify_probes = 1;
        settings.protocol.verify_time_share = 0;
        for (const double sigma : {0.01, 0.005}) {
            SCOPED_TRACE(name(settings) + ' ' + std::to_string(sigma));
            settings.image.noise_sigma = sigma;
            expect_passed(run(settings));
            expect_failed(run(settings, "output:weak:1+", true), {"windows differ", "is missing"});
        }
    }
}

TEST_F(VerificationTest, LowPrecisionMayRoundAwayTheChangeOfANearlyCleanImage) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.weights = "default";
    settings.dtype = Precision::bf16;
    settings.image.noise_sigma = 0.0005;
    expect_passed(run(settings));
}

/// DRUNet that hands its sigma channel on to the output.
fs::path sigma_seeing_drunet(const fs::path& folder) {
    engine::Weights weights = engine::make_seeded_weights(network::kind_of<network::DrunetShape>(), 3, 1);
    for (auto& [name, convolution] : weights.convolutions) std::ranges::fill(convolution.weight, 0.0F);
    const auto connect = [&](const char* name, int64_t from, int64_t to) {
        engine::Convolution& layer = weights.convolutions.at(name);
        layer.weight[static_cast<size_t>((to * layer.in_channels + from) * 9 + 4)] = 1;  // the middle tap
    };
    connect("m_head", 3, 0);
    for (const int64_t channel : {0, 1, 2}) connect("m_tail", 0, channel);
    test::save_weights(weights, folder / "sigma.safetensors");
    return folder / "sigma.safetensors";
}

TEST_F(VerificationTest, PublishedDrunetSeesTheSigmaThatItIsTold) {
    if (world_.is_root()) sigma_seeing_drunet(folder_.path());
    world_.barrier();
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.weights = folder_ / "sigma.safetensors";
    settings.protocol.verify = config::VerifyMode::off;
    for (const double sigma : {0.1, 0.05}) {
        settings.sigma = sigma;
        (void)run(settings, "", false, "sigma.png");
        if (!world_.is_root()) continue;
        const image::Image image = image::load_image(folder_ / "sigma.png");
        const auto expected = static_cast<uint8_t>(std::lround(255 * sigma));
        for (int64_t i = 0; i < image.extent().pixels() * 3; ++i) ASSERT_EQ(image.as<uint8_t>()[i], expected) << i;
    }
}

}  // namespace
}  // namespace pb::run
