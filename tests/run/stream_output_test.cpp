// Outputs that no rank holds: the same pixels as held ones, in memory that does not grow with the image, and nothing
// left behind where a rank cannot write.
#include "device/host_memory.hpp"
#include "image/image_file.hpp"
#include "run/pixels/core_sink.hpp"
#include "run/pixels/output.hpp"
#include "run/pixels/slab.hpp"
#include "support/load_image.hpp"
#include "support/on_ranks.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace pb::run {
namespace {

namespace fs = std::filesystem;

/// dncnn with seeded weights on a scene that is no multiple of anything.
config::PointSettings real_settings() {
    config::PointSettings settings = test::computed_point({88, 70});
    settings.batch.count = 2;
    return settings;
}

class StreamOutput : public test::OnRanks {
  protected:
    record::PointTrace run(const config::PointSettings& settings, const std::string& file = "") {
        Runner runner(world_, topology_, study_);
        const plan::Point point = point_of(settings);
        const record::PointTrace trace = runner.run(point, {.image = file.empty() ? fs::path{} : folder_ / file});
        world_.barrier();
        return trace;
    }
    /// This rank's windows of a gray scene without a network between cutting and writing.
    [[nodiscard]] StreamCounts pass_through(int64_t edge, int64_t patch) const {
        config::PointSettings settings = real_settings();
        settings.patch = patch;
        settings.image = {.height = edge, .width = edge, .channels = 1};
        const Work work = make_work(point_of(settings), world_.rank());
        ImageSource source(settings.image);
        StreamedWindows windows(source);
        ChecksumSink output(source);
        std::vector<std::byte> window(static_cast<size_t>(work.window.pixels()) * sizeof(float));
        for (int64_t index = work.windows.begin; index < work.windows.end; ++index) {
            const plan::Tile tile = work.tile(index);
            cut_window(windows.read(tile.window), tile.window, window.data());
            write_core(window.data(), tile, 0, output);
        }
        return output.counts();
    }
    [[nodiscard]] image::Image image(const std::string& file) const { return image::load_image(folder_ / file); }
    [[nodiscard]] int64_t num_files() const {
        return std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator());
    }

    const test::SharedFolder folder_{world_};
};

bool same_pixels(const image::Image& a, const image::Image& b) {
    return a.extent() == b.extent() && a.dtype() == b.dtype() &&
           std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

TEST_F(StreamOutput, AFileThatAllRanksWriteHasThePixelsOfAHeldOne) {
    config::PointSettings settings = real_settings();
    settings.output = config::OutputKind::memory;
    const record::PointTrace held = run(settings, "held.tif");
    ASSERT_EQ(held.status, record::PointStatus::ok) << held.reason;
    settings.output = config::OutputKind::file;
    for (const char* file : {"a.tif", "a.npy"}) {
        settings.schedule = file == std::string("a.tif") ? config::Schedule::contiguous : config::Schedule::dynamic;
        const record::PointTrace trace = run(settings, file);
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (!world_.is_root()) continue;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
        EXPECT_GT(trace.verification.windows_checked, 0);
        EXPECT_EQ(trace.verification.seam_error.has_value(), held.verification.seam_error.has_value());
        EXPECT_EQ(trace.output_file, (folder_ / file).string());
        EXPECT_TRUE(same_pixels(image(file), image("held.tif"))) << file;
        EXPECT_NEAR(trace.quality->psnr_noisy_db, held.quality->psnr_noisy_db, 1e-6);
        EXPECT_NEAR(trace.quality->psnr_denoised_db, held.quality->psnr_denoised_db, 0.2) << "rounded to 8 bits";
    }
    if (world_.is_root()) {
        EXPECT_EQ(num_files(), 3) << "no temporary file is left";
    }
}

TEST_F(StreamOutput, InputsWithAlphaAndNoiseAreStreamedToo) {
    if (world_.is_root()) {
        image::Image pixels({60, 50}, 3, DType::u16), alpha({60, 50}, 1, DType::u16);
        for (int64_t i = 0; i < 60 * 50 * 3; ++i) pixels.as<uint16_t>()[i] = static_cast<uint16_t>(i * 4099);
        for (int64_t i = 0; i < 60 * 50; ++i) alpha.as<uint16_t>()[i] = static_cast<uint16_t>(i * 257);
        image::save_image({.pixels = pixels.view(), .alpha = alpha.view()}, folder_ / "in.tif");
    }
    world_.barrier();
    config::PointSettings settings = real_settings();
    settings.image.path = folder_ / "in.tif";
    for (const double sigma : {0.0, 0.1}) {
        settings.image.noise_sigma = sigma;
        settings.sigma = 0.1;
        settings.output = config::OutputKind::memory;
        ASSERT_EQ(run(settings, "held.tif").status, record::PointStatus::ok);
        settings.output = config::OutputKind::file;
        const record::PointTrace trace = run(settings, "streamed.tif");
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (!world_.is_root()) continue;
        EXPECT_TRUE(same_pixels(image("streamed.tif"), image("held.tif"))) << sigma;
        EXPECT_TRUE(same_pixels(image::open_image(folder_ / "streamed.tif")->read_alpha(),
                                image::open_image(folder_ / "in.tif")->read_alpha()));
    }
}

/// 60 % of each row lie far outside of [0, 1]. With two ranks that is less than half of all samples on each rank.
TEST_F(StreamOutput, NoPsnrIsSaidOfSamplesThatAreMostlyFarOutside) {
    config::PointSettings settings = real_settings();
    settings.image.path = folder_ / "far.npy";
    settings.image.noise_sigma = 0.1;
    settings.output = config::OutputKind::file;
    settings.protocol.verify = config::VerifyMode::off;
    for (const int64_t far : {0, 42}) {
        image::Image image({88, 70}, 3, DType::f32);
        for (int64_t i = 0; i < image.num_samples(); ++i) image.as<float>()[i] = i / 3 % 70 < far ? 50.0F : 0.5F;
        if (world_.is_root()) image::save_image({.pixels = image.view(), .alpha = {}}, folder_ / "far.npy");
        world_.barrier();
        const record::PointTrace trace = run(settings, "a.npy");
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        EXPECT_EQ(trace.quality.has_value(), far == 0);
    }
}

TEST_F(StreamOutput, AChecksumIsThatOfTheImageHoweverItIsCut) {
    ImageSource source({.height = 500, .width = 500, .channels = 1});
    const Rect whole{0, 0, {500, 500}};
    image::Image image = source.read_noisy(whole);
    const uint64_t expected = checksum_of(image.view(), 0, 0, 500);
    for (const int64_t patch : {64, 250, 1000}) {
        const StreamCounts counts = pass_through(500, patch);
        EXPECT_EQ(sum_of_ranks(counts.checksum, world_), expected) << patch;
        EXPECT_EQ(world_.sum(static_cast<double>(counts.pixels)), 500 * 500);
        EXPECT_EQ(counts.not_finite, 0);
    }
    std::swap(image.as<float>()[1000], image.as<float>()[1001]);
    EXPECT_NE(checksum_of(image.view(), 0, 0, 500), expected) << "samples that changed places";
}

TEST_F(StreamOutput, MemoryDoesNotGrowWithTheImage) {
    const auto peak_mib = [&](int64_t edge) {
        device::reset_resident_peak();
        (void)pass_through(edge, 256);
        return static_cast<double>(device::resident_peak_bytes().value()) / kMiB;
    };
    (void)peak_mib(1024);  // what is loaded and allocated once
    const double small = peak_mib(1024);
    EXPECT_LT(peak_mib(4096), small + 4) << "64 MiB of samples";
}

TEST_F(StreamOutput, AChecksumUnderDynamicSchedulingHasWindowsOfEachRankVerified) {
    config::PointSettings settings = real_settings();
    settings.output = config::OutputKind::checksum;
    settings.schedule = config::Schedule::dynamic;
    settings.protocol.verify_probes = 1;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    const auto has_windows = [](const record::RankTrace& rank) { return rank.num_windows > 0; };
    if (!world_.is_root()) return;
    EXPECT_GE(trace.verification.windows_checked, std::ranges::count_if(trace.ranks, has_windows));
}

TEST_F(StreamOutput, AChecksumKeepsSomeCoresOfEachPass) {
    constexpr int64_t kEdge = 8, kCores = 20, kPasses = 12;
    const config::ImageSettings scene{.height = kEdge * kCores, .width = kEdge, .channels = 1};
    ImageSource source(scene);
    ChecksumSink output(source);
    output.remember_some(3);
    std::set<int64_t> kept;
    for (int64_t pass = 0; pass < kPasses; ++pass) {
        output.start_pass();
        for (int64_t i = 0; i < kCores; ++i) {
            const Rect core{i * kEdge, 0, {kEdge, kEdge}};
            EXPECT_FALSE(output.holds(core)) << "of the pass before";
            source.read(core, output.map(core).pixels);
            output.commit(core);
        }
        int64_t held = 0;
        for (int64_t i = 0; i < kCores; ++i) {
            const Rect core{i * kEdge, 0, {kEdge, kEdge}};
            if (!output.holds(core)) continue;
            ++held;
            kept.insert(i);
            EXPECT_TRUE(same_pixels(output.read(core), source.read_unit(core)));
        }
        EXPECT_EQ(held, 3);
    }
    EXPECT_GT(*kept.rbegin(), kCores / 2) << "not the first ones alone";
    EXPECT_LT(*kept.begin(), kCores / 2);
}

TEST_F(StreamOutput, SimulatedDevicesPassAnImageIntoAChecksumThatIsVerified) {
    config::PointSettings settings = real_settings();
    settings.engine = EngineKind::timed;
    settings.timed.per_window_s = 0;
    settings.output = config::OutputKind::checksum;
    settings.patch = 64;
    settings.image = {.height = 500, .width = 500, .channels = 1};
    ImageSource source(settings.image);
    const uint64_t expected = checksum_of(source.read_noisy({0, 0, {500, 500}}).view(), 0, 0, 500);
    for (const auto schedule : {config::Schedule::contiguous, config::Schedule::dynamic}) {
        settings.schedule = schedule;
        const record::PointTrace trace = run(settings);
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
        const std::string& note = trace.point.notes.back();
        EXPECT_EQ(std::stoull(note.substr(note.rfind(' ') + 1), nullptr, 16), expected) << note;
    }
}

TEST_F(StreamOutput, SimulatedDevicesWriteTheImageItselfIntoAFileThatIsVerified) {
    config::PointSettings settings = real_settings();
    settings.engine = EngineKind::timed;
    settings.timed.per_window_s = 0;
    settings.output = config::OutputKind::file;
    settings.patch = 64;
    settings.image = {.height = 500, .width = 300, .channels = 1};
    ImageSource source(settings.image);
    image::Image expected({500, 300}, 1, DType::u8);
    image::from_float(source.read_noisy({0, 0, {500, 300}}).view(), expected.view());
    for (const char* file : {"a.tif", "a.npy"}) {
        const record::PointTrace trace = run(settings, file);
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
        EXPECT_TRUE(same_pixels(image(file), expected)) << file;
        EXPECT_NE(trace.point.notes[1].find("no network's result"), std::string::npos) << trace.point.notes[1];
    }
}

TEST_F(StreamOutput, ANetworkRunsIntoAChecksumWhereNothingIsToBeVerified) {
    config::PointSettings settings = real_settings();
    settings.output = config::OutputKind::checksum;
    settings.protocol.verify = config::VerifyMode::off;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_TRUE(trace.point.notes.back().starts_with("checksum of the output: "));
    EXPECT_EQ(trace.output_file, "");
    EXPECT_EQ(num_files(), 0);
}

TEST_F(StreamOutput, NothingIsLeftWhereARankCannotWrite) {
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    if (world_.rank() + 1 == world_.size()) {
        const rlimit tight{4096, before.rlim_max};
        setrlimit(RLIMIT_FSIZE, &tight);
    }
    config::PointSettings settings = real_settings();
    settings.output = config::OutputKind::file;
    const record::PointTrace trace = run(settings, "a.npy");
    setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, old_handler);
    EXPECT_EQ(trace.status, record::PointStatus::failed);
    if (world_.is_root()) {
        EXPECT_NE(trace.reason.find("a.npy"), std::string::npos) << trace.reason;
        EXPECT_NE(trace.reason.find("File too large"), std::string::npos) << trace.reason;
        EXPECT_EQ(num_files(), 0);
    }
}

/// `automatic` goes by the host with the least memory, here by one where the image is said to be huge.
TEST_F(StreamOutput, OneHostWithoutTheMemoryDecidesForAll) {
    Teams teams(world_, topology_, study_);
    plan::Point point = point_of(real_settings());
    const Team& team = teams.of(point);
    ImageSource source(point.settings.image);
    const PointFiles files{.image = folder_ / "a.tif"};
    std::vector<std::string> notes;
    EXPECT_EQ(plan_output(point, team, source, files, notes).kind, config::OutputKind::memory);
    EXPECT_TRUE(notes.empty());
    if (is_last()) point.source.extent = {int64_t{1} << 22, int64_t{1} << 22};
    EXPECT_EQ(plan_output(point, team, source, files, notes).kind, config::OutputKind::file);
    EXPECT_EQ(notes.size(), 1U);
}

TEST_F(StreamOutput, WhatCannotBeStreamedIsRefusedOnAllRanks) {
    config::PointSettings settings = real_settings();
    settings.output = config::OutputKind::file;
    EXPECT_THROW((void)run(settings, "a.png"), Error);
    EXPECT_THROW((void)run(settings), Error) << "no file to write";
    settings.workload = config::Workload::whole;
    EXPECT_THROW((void)run(settings, "a.tif"), Error);
    settings = real_settings();
    settings.output = config::OutputKind::checksum;
    settings.protocol.verify = config::VerifyMode::full;
    EXPECT_THROW((void)run(settings), Error) << "not every window is kept to be verified";
    if (world_.is_root()) {
        EXPECT_EQ(num_files(), 0);
    }
}

}  // namespace
}  // namespace pb::run
