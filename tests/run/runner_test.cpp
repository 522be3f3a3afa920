// The whole path of a point on real ranks: the same bytes whatever the rank count, the batch and the threads; per-rank
// figures complete; failures agreed.
#include "run/runner.hpp"

#include "base/fault.hpp"
#include "network/native_layout.hpp"
#include "run/agreement.hpp"
#include "run/pixels/slab.hpp"
#include "run/point/engine_cache.hpp"
#include "run/work.hpp"
#include "support/damage.hpp"
#include "support/networks.hpp"
#include "support/on_ranks.hpp"
#include "support/planned_point.hpp"
#include "support/small_point.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace pb::run {
namespace {

namespace fs = std::filesystem;
using test::quiet_study;

/// Neither extent is a multiple of 8: the padded borders are part of the test.
config::PointSettings small_point(network::NetworkKind network) {
    config::PointSettings settings = test::computed_point({84, 70});
    settings.network = network;
    settings.batch.count = 4;
    settings.protocol.min_reps = 2;
    settings.protocol.forward_calls = 1;
    settings.protocol.verify_probes = 2;
    settings.image.noise_sigma = 0.1;
    return settings;
}

/// One pass and nothing beside it.
config::PointSettings single_pass(network::NetworkKind network) {
    config::PointSettings settings = small_point(network);
    settings.protocol.min_reps = 1;
    settings.protocol.forward_calls = 0;
    settings.protocol.verify = config::VerifyMode::off;
    return settings;
}

/// What this process holds of memory files of at least `bytes`, each page divided by the number of processes that have
/// it.
double shared_file_bytes(double bytes) {
    std::ifstream maps("/proc/self/smaps");
    double kib = 0, size = 0;
    bool is_file = false;
    for (std::string line; std::getline(maps, line);) {
        if (line.find('-') < line.find(' ')) is_file = line.find("memfd:patchbench") != std::string::npos;
        if (is_file && line.starts_with("Size:")) size = 1024 * std::stod(line.substr(5));
        if (is_file && size >= bytes && line.starts_with("Pss:")) kib += std::stod(line.substr(4));
    }
    return 1024 * kib;
}

class RunPoint : public testing::Test {
  protected:
    RunPoint()
        : world_(comm::Communicator::world()), self_(world_.split(world_.rank(), 0)), all_(world_), alone_(self_) {}

    /// A topology and a runner (which keeps weights) for all ranks, and for each rank alone.
    struct Launch {
        explicit Launch(const comm::Communicator& ranks)
            : topology(gather_topology(ranks, config::DeviceChoice::cpu)), runner(ranks, topology, study) {}
        config::StudySettings study = quiet_study();
        plan::Topology topology;
        Runner runner;
    };

    record::PointTrace run(Launch& launch, const config::PointSettings& settings, const std::string& file) {
        return launch.runner.run(test::planned(settings, launch.study, launch.topology),
                                 {.image = file.empty() ? fs::path{} : folder_ / file});
    }
    record::PointTrace run(const config::PointSettings& settings) { return run(all_, settings, ""); }

    /// Bytes of the output on rank 0 alone; nothing on the others.
    std::string bytes_alone(const config::PointSettings& settings) {
        if (!world_.is_root()) return {};
        EXPECT_EQ(run(alone_, settings, "one.png").status, record::PointStatus::ok);
        return test::read_bytes(folder_ / "one.png");
    }

    void expect_bytes(const config::PointSettings& settings, const std::string& expected) {
        const record::PointTrace trace = run(all_, settings, "all.png");
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        if (world_.is_root()) {
            EXPECT_EQ(test::read_bytes(folder_ / "all.png") == expected, true) << "other bytes than on one rank";
        }
        world_.barrier();
    }

    /// By any batch on all ranks, in windows of which the engine native computes what the cores need.
    void expect_same_bytes_of_native(network::NetworkKind network) {
        config::PointSettings settings = single_pass(network);
        settings.engine = EngineKind::native;
        settings.batch.count = 1;
        const std::string expected = bytes_alone(settings);
        for (const int64_t batch : {3, 16}) {
            SCOPED_TRACE("batch " + std::to_string(batch));
            settings.batch.count = batch;
            settings.last_batch = batch == 3 ? config::LastBatch::ragged : config::LastBatch::pad;
            expect_bytes(settings, expected);
        }
    }

    /// All ranks together hold one shared copy of the packed weights; one rank alone holds none.
    void expect_one_copy(const config::PointSettings& settings) {
        const auto bytes = static_cast<double>(
            network::native_weight_bytes(network::graph_of(network::standard_shape(settings.network, 3)), {}));
        const double held = world_.sum(shared_file_bytes(bytes));
        EXPECT_NEAR(held / bytes, world_.size() > 1 ? 1 : 0, 0.05);
        world_.barrier();
    }

    comm::Communicator world_, self_;
    Launch all_, alone_;
    const test::SharedFolder folder_{world_};
};

class RunPointOf : public RunPoint, public testing::WithParamInterface<network::NetworkKind> {};

INSTANTIATE_TEST_SUITE_P(Networks, RunPointOf, testing::ValuesIn(test::all_networks()),
                         [](const auto& network) { return std::string(name_of(network.param)); });

TEST_P(RunPointOf, GivesTheSameBytesForAnyRanksBatchAndThreads) {
    config::PointSettings settings = single_pass(GetParam());
    settings.batch.count = 1;
    const std::string expected = bytes_alone(settings);
    for (const int64_t batch : {1, 3, 16})
        for (const int64_t threads : {1, 2}) {
            SCOPED_TRACE("batch " + std::to_string(batch) + " threads " + std::to_string(threads));
            settings.batch.count = batch;
            settings.threads.count = threads;
            settings.last_batch = batch == 3 ? config::LastBatch::ragged : config::LastBatch::pad;
            expect_bytes(settings, expected);
        }
}

TEST_P(RunPointOf, IsVerified) {
    const record::PointTrace trace = run(small_point(GetParam()));
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (world_.is_root()) {
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
        EXPECT_GT(trace.verification.windows_checked, 0);
        EXPECT_TRUE(trace.verification.seam_error.has_value());
        const double predicted = trace.prediction.value().peak_mib;
        EXPECT_NEAR(static_cast<double>(trace.ranks.front().memory.allocated_peak) / kMiB, predicted, 0.1 * predicted);
    }
}

/// What the batches of a rank compute, by the resident call that was timed.
double pixels_of_calls(const plan::Point& point, const record::RankTrace& rank) {
    const Work work = make_work(point, rank.rank);
    if (work.windows.size() == 0) return 0;
    const Range resident = work.resident_batch();
    double macs = 0;
    for (int64_t place = 0; place < work.run_size(resident); ++place)
        macs += work.crop->macs(work.core_at(resident, place));
    return static_cast<double>(rank.num_batches) * rank.work_per_call * macs / point.facts().mac_per_pixel;
}

TEST_P(RunPointOf, InTheEngineNativeIsVerifiedAndItsPeakIsThePredictedOne) {
    config::PointSettings settings = small_point(GetParam());
    settings.engine = EngineKind::native;
    settings.threads.count = 2;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
    EXPECT_GT(trace.verification.windows_checked, 0);
    const double predicted = trace.prediction.value().peak_mib;
    EXPECT_NEAR(static_cast<double>(trace.ranks.front().memory.allocated_peak) / kMiB, predicted, 1e-3 * predicted);
    EXPECT_LT(trace.computed_pixels, 0.99 * trace.processed_pixels) << "windows are cropped";
    double computed = 0;
    for (const record::RankTrace& rank : trace.ranks) computed += pixels_of_calls(trace.point, rank);
    EXPECT_NEAR(computed, trace.computed_pixels, 1e-9 * computed);
}

TEST_F(RunPoint, CroppedWindowsGiveTheSameBytesForAnyRanksAndBatch) {
    expect_same_bytes_of_native(network::kind_of<network::DncnnShape>());
}

TEST_F(RunPoint, CroppedWindowsOfThePublishedUnetWithItsSkipsDoSoToo) {
    expect_same_bytes_of_native(network::kind_of<network::UnetShape>());
}

TEST_F(RunPoint, RanksOfANodeShareOneCopyOfTheWeightsOfNative) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.engine = EngineKind::native;
    const std::string expected = bytes_alone(settings);
    all_.runner.keep_engines();
    expect_bytes(settings, expected);
    expect_one_copy(settings);
}

TEST_F(RunPoint, RanksThatWorkApartShareOneCopy) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.engine = EngineKind::native;
    plan::Topology topology = alone_.topology;
    topology.num_apart = world_.size();
    const plan::Point point = test::planned(settings, all_.study, topology);
    const auto blocks = make_shared_blocks(world_, all_.topology);
    Runner runner(self_, topology, all_.study, blocks);
    runner.keep_engines();
    const record::PointTrace trace = runner.run(point, {});
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    const double predicted = trace.prediction.value().peak_mib;
    EXPECT_NEAR(static_cast<double>(trace.ranks.front().memory.allocated_peak) / kMiB, predicted, 1e-3 * predicted);
    world_.barrier();
    expect_one_copy(settings);
}

TEST_F(RunPoint, EachRankCountsItsPartOfSharedWeights) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.engine = EngineKind::native;
    settings.batch.count = 1;
    settings.memory_limit_mib = 9;  // less than the weights
    const record::PointTrace trace = run(settings);
    EXPECT_EQ(trace.point.winograd_tile.has_value(), world_.size() == 1) << "smaller ones where a rank has them alone";
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (!world_.is_root()) return;
    const double predicted = trace.prediction.value().peak_mib;
    EXPECT_LE(predicted, 9);
    for (const record::RankTrace& rank : trace.ranks)
        EXPECT_NEAR(static_cast<double>(rank.memory.allocated_peak) / kMiB, predicted, 1e-3 * predicted);
}

TEST_F(RunPoint, AFailureWhileWeightsArePackedIsTheStatusOnAllRanks) {
    if (world_.size() == 1) GTEST_SKIP() << "needs two ranks";
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.engine = EngineKind::native;
    for (const auto& [action, status] :
         {std::pair{"memory", record::PointStatus::oom}, std::pair{"throw", record::PointStatus::failed}}) {
        setenv("PATCHBENCH_FAULT", ("pack:" + std::string(action) + ":1").c_str(), 1);
        restart_faults();
        EXPECT_EQ(run(settings).status, status) << action;
        unsetenv("PATCHBENCH_FAULT");
        restart_faults();
        const record::PointTrace next = run(settings);
        EXPECT_EQ(next.status, record::PointStatus::ok) << next.reason;
    }
}

TEST_F(RunPoint, GathersFiguresOfEveryRank) {
    const record::PointTrace trace = run(small_point(network::kind_of<network::DncnnShape>()));
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    ASSERT_EQ(trace.ranks.size(), static_cast<size_t>(world_.size()));
    EXPECT_EQ(trace.wall_s.size(), 2U);
    EXPECT_EQ(trace.stop_reason, StopReason::max_time);
    for (const double of_slowest : {trace.load_s, trace.prepare_s, trace.read_s, trace.noise_s})
        EXPECT_EQ(world_.min(of_slowest), world_.max(of_slowest));
    int64_t patches = 0;
    for (const record::RankTrace& rank : trace.ranks) {
        patches += rank.num_patches;
        EXPECT_EQ(rank.wall_s.size(), 2U);
        EXPECT_GT(rank.memory.host_peak, 0);
        if (rank.num_windows > 0) {
            EXPECT_GT(rank.memory.allocated_peak, 0);
        }
    }
    EXPECT_EQ(patches, trace.num_patches);
    EXPECT_EQ(patches, 4 * 3);
    int64_t computed = 0;  // windows, those that fill the last batch of a rank included
    const int64_t batch = trace.point.settings.batch.count;
    for (int rank = 0; rank < world_.size(); ++rank)
        computed += (shard(12, rank, world_.size()).size() + batch - 1) / batch * batch;
    EXPECT_EQ(trace.input_pixels, computed * 40 * 40);
    for (size_t i = 0; i < trace.wall_s.size(); ++i)
        for (const record::RankTrace& rank : trace.ranks) EXPECT_GE(trace.wall_s[i], rank.wall_s[i]) << "of each pass";
}

TEST_F(RunPoint, ARaggedBatchCountsByItsWindows) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.layout = Layout::contiguous;  // whole windows
    settings.last_batch = config::LastBatch::ragged;
    settings.batch.count = 5;
    const record::PointTrace trace = run(settings);
    if (!world_.is_root()) return;
    double calls = 0;
    bool is_ragged = false;
    for (const record::RankTrace& rank : trace.ranks) {
        const Work work = make_work(trace.point, rank.rank);
        if (work.windows.size() == 0) continue;
        is_ragged |= rank.num_windows % work.run_size(work.resident_batch()) != 0;
        calls += static_cast<double>(rank.num_batches) * rank.work_per_call *
                 static_cast<double>(work.run_size(work.resident_batch()));
    }
    EXPECT_NEAR(calls * static_cast<double>(plan::tile_grid(trace.point).window().pixels()), trace.computed_pixels,
                1e-6);
    EXPECT_TRUE(is_ragged || world_.size() > 2);
}

TEST_F(RunPoint, AnImageThatWasReplacedHasAnotherDigestAndReference) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.image.path = folder_ / "in.png";
    settings.patch = 16;
    settings.halo.kind = config::HaloSetting::Kind::exact;
    settings.protocol.verify = config::VerifyMode::full;
    const auto digest = [&](uint8_t level) {
        if (world_.is_root()) {
            image::Image image({40, 30}, 3, DType::u8);
            std::ranges::fill(image.bytes(), std::byte{level});
            image::save_image({.pixels = image.view(), .alpha = {}}, folder_ / "in.png");
        }
        world_.barrier();
        const auto plan = plan::make_plan({all_.study, {settings}, ""}, all_.topology, source_facts);
        const record::PointTrace trace = all_.runner.run(plan.points.front(), {.folder = folder_.path()});
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed)
            << testing::PrintToString(trace.verification.reasons);
        return trace.image_sha256;
    };
    const std::string first = digest(10), second = digest(200);
    EXPECT_TRUE(first != second || !world_.is_root());
}

TEST_F(RunPoint, AnImageOfElevenColumnsHasItsSimilarity) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.image.width = 11;
    const record::PointTrace trace = run(settings);
    if (!world_.is_root()) return;
    ASSERT_TRUE(trace.quality);
    EXPECT_TRUE(std::isfinite(trace.quality->ssim_noisy) && std::isfinite(trace.quality->ssim_denoised));
    EXPECT_NE(trace.quality->ssim_noisy, trace.quality->ssim_denoised);
}

TEST_F(RunPoint, PointsThatDenoiseOtherSamplesHaveReferencesOfTheirOwn) {
    if (world_.is_root()) {
        image::Image image({40, 30}, 6, DType::u16);
        for (int64_t i = 0; i < image.num_samples(); ++i) image.as<uint16_t>()[i] = static_cast<uint16_t>(i * 7919);
        image::save_image({.pixels = image.view(), .alpha = {}}, folder_ / "in.npy");
    }
    world_.barrier();
    const auto expect_verified = [&](const char* what, auto change) {
        config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
        settings.image.path = folder_ / "in.npy";
        settings.image.bands = "1-3";
        settings.patch = 16;
        settings.halo.kind = config::HaloSetting::Kind::exact;
        settings.protocol.verify = config::VerifyMode::probes;
        settings.protocol.verify_whole_max_mpx = 1;
        change(settings);
        const auto plan = plan::make_plan({all_.study, {settings}, ""}, all_.topology, source_facts);
        const record::PointTrace trace = all_.runner.run(plan.points.front(), {.folder = folder_.path()});
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed)
            << what << ": " << trace.reason << testing::PrintToString(trace.verification.reasons);
    };
    expect_verified("as they are", [](config::PointSettings&) {});
    expect_verified("bands", [](config::PointSettings& s) { s.image.bands = "4-6"; });
    expect_verified("seed", [](config::PointSettings& s) { s.image.seed = 8; });
    expect_verified("noise", [](config::PointSettings& s) { s.image.noise_sigma = 0.3; });
    expect_verified("range", [](config::PointSettings& s) { s.image.range = "0:30000"; });
    expect_verified("other range", [](config::PointSettings& s) { s.image.range = "1000:50000"; });
    expect_verified("nodata", [](config::PointSettings& s) { s.image.nodata = "7919"; });
    expect_verified("gain", [](config::PointSettings& s) { s.trained_sigma.level = 0.05; });
    const auto told = [](double level) {
        return [level](config::PointSettings& s) {
            s.network = network::kind_of<network::DrunetShape>();
            s.sigma.level = level;
        };
    };
    expect_verified("a level", told(0.1));
    expect_verified("another level", told(0.9));
}

TEST_F(RunPoint, AChannelThatTheFileDoesNotNameIsNamedByItsNumber) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.image.path = folder_ / "in.tif";
    if (world_.is_root()) {
        const image::Image colours({40, 30}, 3, DType::u8), other({40, 30}, 1, DType::u8);
        image::ImageMetadata metadata;
        metadata.has_unnamed_channel = true;
        image::save_image({colours.view(), other.view(), &metadata}, folder_ / "in.tif");
    }
    world_.barrier();
    const auto plan = plan::make_plan({all_.study, {settings}, ""}, all_.topology, source_facts);
    const record::PointTrace trace = all_.runner.run(plan.points.front(), {.folder = folder_.path()});
    EXPECT_TRUE(trace.point.channel_note.starts_with("channel 4 ")) << trace.point.channel_note;
    settings.image.noise_sigma = 0;
    const auto plain = plan::make_plan({all_.study, {settings}, ""}, all_.topology, source_facts);
    EXPECT_EQ(all_.runner.run(plain.points.front(), {.folder = folder_.path()}).sample_type, DType::u8);
}

TEST_F(RunPoint, TheRangeThatIsFoundIsNoted) {
    config::PointSettings settings = single_pass(network::kind_of<network::DncnnShape>());
    settings.image.path = folder_ / "in.npy";
    settings.image.range = "auto";
    if (world_.is_root()) {
        image::Image image({40, 30}, 1, DType::u16);
        for (int64_t i = 0; i < image.num_samples(); ++i) image.as<uint16_t>()[i] = i % 2 == 0 ? 100 : 700;
        image::save_image({.pixels = image.view(), .alpha = {}}, settings.image.path);
    }
    world_.barrier();
    const auto plan = plan::make_plan({all_.study, {settings}, ""}, all_.topology, source_facts);
    const record::PointTrace trace = all_.runner.run(plan.points.front(), {});
    EXPECT_EQ(std::ranges::count(trace.point.notes, "image.range = auto is 100:700"), 1);
}

TEST_F(RunPoint, UpperBoundsAreMeasuredOnceAndSetBesideEachPoint) {
    config::StudySettings study = quiet_study();
    study.bounds = true;
    Runner runner(world_, all_.topology, study);
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.memory_limit_mib = 40;  // of the point, not of the bounds
    config::PointSettings in_bf16 = settings, by_native = settings, on_two_threads = settings;
    in_bf16.dtype = Precision::bf16;
    by_native.engine = EngineKind::native;
    by_native.memory_limit_mib = 0;
    on_two_threads.threads.count = 2;
    const plan::Plan plan =
        plan::make_plan({study, {settings, settings, in_bf16, by_native, on_two_threads}, ""}, all_.topology, {});
    const record::PointTrace first = runner.run(plan.points[0], {});
    const record::PointTrace second = runner.run(plan.points[1], {});
    ASSERT_EQ(first.status, record::PointStatus::ok) << first.reason;
    for (size_t rank = 0; rank < first.ranks.size(); ++rank) {
        const record::BoundsRecord& bounds = first.ranks[rank].bounds;
        for (const auto bound : {record::Bound::matmul_tflops, record::Bound::conv_tflops,
                                 record::Bound::device_copy_gb_per_s, record::Bound::host_copy_gb_per_s})
            EXPECT_GT(bounds[bound].value_or(0), 0) << name_of(bound) << " of rank " << rank;
        EXPECT_FALSE(bounds[record::Bound::h2d_gb_per_s] || bounds[record::Bound::d2h_gb_per_s])
            << "there is no device";
        EXPECT_EQ(second.ranks[rank].bounds, bounds);
    }
    for (const size_t i : {2, 3, 4}) {  // each precision, engine and number of threads has its own
        const record::PointTrace other = runner.run(plan.points[i], {});
        ASSERT_EQ(other.status, record::PointStatus::ok) << other.reason;
        for (size_t rank = 0; rank < first.ranks.size(); ++rank)
            EXPECT_NE(other.ranks[rank].bounds, first.ranks[rank].bounds) << plan.points[i].key;
    }
    EXPECT_EQ(first.ranks.front().memory.allocated_peak, second.ranks.front().memory.allocated_peak)
        << "no part of the point's memory";
}

TEST_F(RunPoint, TheOutputIsPoisonedByAllRanksOfANode) {
    std::vector<uint8_t> samples(size_t{7} * 5 * 3, 0);
    const Slab slab{dense_view(reinterpret_cast<std::byte*>(samples.data()), {7, 5}, 3, DType::u8), {9, 5}, 2};
    for (int local_rank = 0; local_rank < 3; ++local_rank) {
        EXPECT_EQ(std::count(samples.begin(), samples.end(), 0) > 0, true) << "one rank's share is not all";
        poison(slab, local_rank, 3);
    }
    EXPECT_EQ(std::count(samples.begin(), samples.end(), 0xA5), static_cast<ptrdiff_t>(samples.size()));
}

TEST_F(RunPoint, FewerRanksThanStartedGiveTheSameBytes) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.ranks.count = 1;
    expect_bytes(settings, bytes_alone(small_point(network::kind_of<network::DncnnShape>())));
}

TEST_F(RunPoint, OutOfMemoryIsAStatusOnAllRanksAndTheNextPointRuns) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.memory_limit_mib = 3;  // the weights alone take 2.6
    const record::PointTrace failed = run(settings);
    EXPECT_EQ(failed.status, record::PointStatus::oom) << failed.reason;
    const record::PointTrace next = run(small_point(network::kind_of<network::DncnnShape>()));
    EXPECT_EQ(next.status, record::PointStatus::ok) << next.reason;
}

TEST_F(RunPoint, MissingWeightsAreTheUsersErrorOnAllRanks) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.weights = "no/such/file.pth";
    EXPECT_THROW((void)run(settings), AgreedError);
    EXPECT_EQ(run(small_point(network::kind_of<network::DncnnShape>())).status, record::PointStatus::ok);
}

TEST_F(RunPoint, ExactHaloGivesTheWholeImage) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.halo.kind = config::HaloSetting::Kind::exact;
    settings.protocol.verify_whole_max_mpx = 1;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (world_.is_root()) {
        EXPECT_TRUE(trace.verification.seam_against_whole_image);
        EXPECT_TRUE(trace.verification.seam_decides);
        EXPECT_EQ(trace.verification.seam_error.value(), 0) << "the same sums in the same order";
    }
    settings.engine = EngineKind::native;
    const record::PointTrace native = run(settings);
    ASSERT_EQ(native.status, record::PointStatus::ok) << native.reason;
    if (!world_.is_root()) return;
    EXPECT_LT(native.verification.seam_error.value(), 1e-5) << "within rounding";
}

TEST_F(RunPoint, HaloAndBatchAutoAreSettled) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    settings.batch.count = 0;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_GT(trace.point.halo.value(), 0) << "the default tolerance is met by no bare patch";
    EXPECT_LT(trace.point.halo.value(), 20) << "nor does it need all that can reach a pixel";
    EXPECT_GE(trace.point.batch.value(), 1);
    EXPECT_LE(trace.point.batch.value(), (12 + world_.size() - 1) / world_.size());
    if (world_.is_root()) {
        EXPECT_GT(trace.verification.seam_error.value(), 0) << "some of the context is left out";
        EXPECT_LE(trace.verification.seam_error.value(), settings.halo_tolerance) << "of other seams than were probed";
    }
}

/// dncnn on windows of 40 x 40: 0.4 MB of activations each, 12 windows in all.
config::PointSettings searched_point(int64_t limit_mib) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.batch = {0, true};
    settings.layout = Layout::contiguous;  // whole windows: cropped ones take less or more by which are together
    settings.memory_limit_mib = limit_mib;
    settings.protocol.min_reps = 1;
    return settings;
}

TEST_F(RunPoint, TheLargestBatchIsFoundUnderACapAndTheNextDoesNotFit) {
    // The weights take 2.6 MiB. Under the second cap one rank's largest is 5: doubling alone does not find it.
    for (const int64_t limit_mib : {5, 7}) {
        config::PointSettings settings = searched_point(limit_mib);
        const record::PointTrace trace = run(settings);
        ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
        const record::BatchSearch& search = trace.batch_search.value();
        EXPECT_EQ(search.found, trace.point.batch);
        EXPECT_LE(search.found, 12);
        ASSERT_EQ(search.tries.back().batch, search.found) << "the answer is run again";
        for (const auto& tried : search.tries) {
            EXPECT_EQ(tried.fits, tried.batch <= search.found);
            EXPECT_EQ(tried.peak_bytes > 0, tried.fits);
            EXPECT_LE(tried.peak_bytes, limit_mib << 20);
        }
        if (search.limited_by == record::BatchLimit::windows) {
            EXPECT_GT(world_.size(), 1) << "on one rank the cap comes first";
            continue;
        }
        settings.batch = {search.found + 1, false};
        EXPECT_EQ(run(settings).status, record::PointStatus::oom) << "one more than the largest";
    }
}

TEST_F(RunPoint, TheLargestBatchOfCroppedWindowsHasRoomForThoseWithinTheImage) {
    for (const int64_t limit_mib : {8, 12}) {  // windows at the border, in the middle batch, take less
        config::PointSettings settings = searched_point(limit_mib);
        settings.layout = Layout::channels_last;
        settings.image = {.height = 256, .width = 320};
        settings.halo = {config::HaloSetting::Kind::exact, 0};
        const record::PointTrace trace = run(settings);
        EXPECT_EQ(trace.status, record::PointStatus::ok) << trace.reason << " limit " << limit_mib;
        EXPECT_GT(trace.batch_search.value().found, 1);
    }
}

TEST_F(RunPoint, AShortLastBatchIsNotTriedForAWholeOne) {
    // On two ranks each has three windows, and only the last of them has context above and below.
    config::PointSettings settings = searched_point(0);
    settings.layout = Layout::channels_last;
    settings.image = {.height = 192, .width = 128};
    settings.patch = 64;
    settings.halo = {config::HaloSetting::Kind::exact, 0};
    settings.last_batch = config::LastBatch::ragged;
    EXPECT_EQ(run(settings).status, record::PointStatus::ok);
}

TEST_F(RunPoint, WithoutACapTheWindowsAreTheLimit) {
    const record::PointTrace trace = run(searched_point(0));
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_EQ(trace.batch_search->limited_by, record::BatchLimit::windows);
    EXPECT_EQ(trace.batch_search->found, (12 + world_.size() - 1) / world_.size());
}

TEST_F(RunPoint, NothingFitsIsSaidSo) {
    const record::PointTrace trace = run(searched_point(3));
    EXPECT_EQ(trace.status, record::PointStatus::oom);
    EXPECT_EQ(trace.batch_search->found, 0);
    if (world_.is_root()) {
        EXPECT_NE(trace.reason.find("nothing fits: not even one window of 40 x 40 px"), std::string::npos)
            << trace.reason;
    }
    EXPECT_EQ(run(small_point(network::kind_of<network::DncnnShape>())).status, record::PointStatus::ok);
}

TEST_F(RunPoint, WholeWorkloadSplitsOddShapes) {
    config::PointSettings settings = small_point(network::kind_of<network::DrunetShape>());
    settings.workload = config::Workload::whole;
    settings.odd_shape = OddShape::split;
    settings.image.height = 72;
    settings.image.width = 68;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    if (world_.is_root()) {
        EXPECT_EQ(trace.ranks.front().num_windows, 4);
        EXPECT_EQ(trace.verification.outcome, record::Verification::Outcome::passed);
    }
}

TEST_F(RunPoint, ReplicateGivesEveryRankItsOwnCopy) {
    config::PointSettings settings = small_point(network::kind_of<network::DncnnShape>());
    settings.workload = config::Workload::whole;
    settings.replicate = true;
    const record::PointTrace trace = run(settings);
    ASSERT_EQ(trace.status, record::PointStatus::ok) << trace.reason;
    EXPECT_EQ(trace.num_patches, world_.size());
    EXPECT_EQ(trace.useful_pixels, world_.size() * 84 * 70);
    EXPECT_TRUE(!world_.is_root() || trace.verification.outcome == record::Verification::Outcome::passed);
    for (const record::RankTrace& rank : trace.ranks) EXPECT_EQ(rank.num_windows, 1);
}

}  // namespace
}  // namespace pb::run
