#include "plan/plan.hpp"

#include "base/mapped.hpp"
#include "plan/context.hpp"
#include "plan/prediction.hpp"
#include "small_points.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace pb::plan {
namespace {

using test::bf16_topology;
using test::cuda_topology;
using test::no_file;
using test::plan_of;
using test::point_of;
using test::refusal_of;
using test::small_point;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Plan, ResolvesHaloBatchRanksDeviceAndSigma) {
    const Point point = point_of(small_point(), make_local_topology(3));
    EXPECT_EQ(point.halo, 20);
    EXPECT_EQ(point.batch, 4);
    EXPECT_EQ(point.num_ranks, 3);
    EXPECT_EQ(point.device, DeviceKind::cpu);
    EXPECT_DOUBLE_EQ(point.sigma, 0.1);
    EXPECT_EQ(point.source.extent, (Extent{300, 200}));
    EXPECT_EQ(label_of(point), "dncnn-p64-h20-b4-fp32");
    EXPECT_EQ(point_of(small_point(), cuda_topology(2)).device, DeviceKind::cuda);
}

/// A plan of one point whose weights are for `shape`.
Point point_with_network(const config::PointSettings& settings, const network::NetworkShape& shape) {
    config::Config config;
    config.points = {settings};
    return make_plan(config, make_local_topology(1), no_file, [&](const auto&, int64_t) { return shape; })
        .points.front();
}

TEST(Plan, FollowsTheNetworkThatTheWeightsAreFor) {
    config::PointSettings settings = small_point();
    settings.weights = "own.safetensors";
    settings.halo = {config::HaloSetting::Kind::exact, 0};
    const Point deep = point_with_network(settings, network::DncnnShape{.depth = 7, .width = 16});
    EXPECT_EQ(deep.halo, 7);
    EXPECT_EQ(deep.facts().num_convolutions, 7);
    EXPECT_LT(predict(deep)->flop, predict(point_of(settings))->flop / 20);
    EXPECT_LT(predict(deep)->peak_mib, predict(point_of(settings))->peak_mib / 2);
    settings.network = network::kind_of<network::DrunetShape>();
    settings.patch = 66;
    const Point small = point_with_network(settings, network::DrunetShape{.widths = {8, 16}, .blocks = 1});
    EXPECT_EQ(small.facts().alignment, 2);
    EXPECT_EQ(tile_grid(small).window().h % 2, 0);
    EXPECT_THAT(refusal_of(settings), HasSubstr("66")) << "no multiple of 8";
    settings.halo = {config::HaloSetting::Kind::pixels, 8};
    EXPECT_EQ(point_with_network(settings, network::DrunetShape{.widths = {8, 16}, .blocks = 1}).key,
              point_with_network(settings, network::DrunetShape{.widths = {8, 16}}).key)
        << "the weights' name tells them apart";
}

TEST(Plan, WhereOnePatchHoldsTheImageItsSizeAndHaloMakeNoOtherPoint) {
    std::vector<config::PointSettings> settings(6, small_point());  // 300 x 200, patch 64, halo 20
    settings[0].patch = 304;
    settings[1].patch = 512;
    settings[2].patch = 304;
    settings[2].halo = {config::HaloSetting::Kind::pixels, 8};
    settings[3].patch = 512;
    settings[3].dtype = Precision::bf16;
    settings[4].patch = 256;
    settings[5].patch = 256;
    settings[5].halo = {config::HaloSetting::Kind::pixels, 8};
    const Plan plan = plan_of(settings, bf16_topology(1, 1));
    const auto says_so = [&](size_t point) {
        return std::ranges::count(plan.points[point].notes,
                                  "computes what point 0 does, because one patch holds the image");
    };
    std::vector<int64_t> said;
    for (size_t point = 0; point < plan.points.size(); ++point) said.push_back(says_so(point));
    EXPECT_THAT(said, testing::ElementsAre(0, 1, 1, 0, 0, 0));
    EXPECT_THAT(plan.points[5].notes, Not(Contains(HasSubstr("one patch holds")))) << "it has two";
    const Plan repeated = plan_of({settings[0], settings[1], settings[1]}, bf16_topology(1, 1));
    EXPECT_THAT(repeated.points[2].notes, Contains("the same measurement as point 1"));
}

TEST(Plan, AsksOnceForEachNetworkAndNeverForSimulatedOnes) {
    config::PointSettings settings = small_point();
    settings.weights = "own.safetensors";
    config::PointSettings simulated = settings;
    simulated.engine = EngineKind::timed;
    config::Config config;
    config.points = {settings, settings, simulated};
    config.points[1].patch = 32;
    int asked = 0;
    const Plan plan = make_plan(config, make_local_topology(1), no_file, [&](const auto&, int64_t channels) {
        ++asked;
        return network::standard_shape(network::kind_of<network::DncnnShape>(), channels);
    });
    EXPECT_EQ(asked, 1);
    for (const Point& point : plan.points) EXPECT_FALSE(point.relative) << "it is the standard one";
}

TEST(Plan, TakesTheShapeOfTheWeightsAndOfTheChannelsOfEachPoint) {
    config::Config config;
    config.points.assign(3, small_point());
    config.points[0].weights = config.points[2].weights = "four.safetensors";
    config.points[1].weights = "eight.safetensors";
    config.points[2].image.channels = 1;
    const Plan plan = make_plan(config, make_local_topology(1), no_file, [](const auto& settings, int64_t channels) {
        const int64_t depth = settings.weights == "four.safetensors" ? 4 : 8;
        return network::NetworkShape(network::DncnnShape{.channels = channels, .depth = depth + channels});
    });
    const auto depths = mapped(
        plan.points, [](const Point& point) { return std::get<network::DncnnShape>(point.relative.value()).depth; });
    EXPECT_THAT(depths, testing::ElementsAre(7, 11, 5));
}

TEST(Plan, SharesAndBatchesPartitionTheWindows) {
    config::PointSettings settings = small_point();
    for (const int64_t batch : {1, 3, 4, 100})
        for (const int num_ranks : {1, 2, 3, 4, 7, 40}) {
            settings.batch.count = batch;
            const Point point = point_of(settings, make_local_topology(num_ranks));
            const TileGrid grid = tile_grid(point);
            int64_t next = 0;
            int64_t largest_share = 1;
            for (int rank = 0; rank < num_ranks; ++rank) {
                const Range share = windows_of_rank(point, grid, rank);
                largest_share = std::max(largest_share, share.size());
                for (const Range& cut : cut_batches(share, *point.batch)) {
                    EXPECT_EQ(cut.begin, next);
                    EXPECT_GT(cut.size(), 0);
                    EXPECT_LE(cut.size(), *point.batch);
                    EXPECT_TRUE(cut.end == share.end || cut.size() == *point.batch);
                    next = cut.end;
                }
            }
            EXPECT_EQ(next, grid.num_windows());
            EXPECT_EQ(*point.batch, std::min(batch, largest_share));
        }
}

TEST(Plan, RanksThatDoNotTakePartHaveNoWindows) {
    config::PointSettings settings = small_point();
    settings.ranks.count = 2;
    const Point point = point_of(settings, make_local_topology(4));
    EXPECT_EQ(point.num_ranks, 2);
    EXPECT_EQ(windows_of_rank(point, tile_grid(point), 2), Range{});
}

TEST(Plan, OpenHaloKeepsTheBatchOpenUntilItIsSettled) {
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    settings.layout = Layout::contiguous;  // in which no engine carries rows
    settings.batch.count = 1000;
    Point point = point_of(settings);
    EXPECT_FALSE(point.halo.has_value());
    EXPECT_FALSE(point.batch.has_value());
    EXPECT_FALSE(predict(point).has_value());
    EXPECT_EQ(label_of(point), "dncnn-p64-hauto-b1000-fp32");
    settle_halo(point, 8);
    EXPECT_EQ(point.batch, tile_grid(point).num_windows());
    EXPECT_TRUE(predict(point).has_value());
}

TEST(Plan, OpenBatchIsSettledAlone) {
    config::PointSettings settings = small_point();
    settings.batch.count = 0;
    Point point = point_of(settings);
    EXPECT_EQ(point.halo, 20);
    EXPECT_FALSE(point.batch.has_value());
    EXPECT_FALSE(predict(point).has_value());
    const std::string key = point.key;
    settle_batch(point, 2);
    EXPECT_EQ(point.batch, 2);
    EXPECT_EQ(key_of(point), key) << "what was found by trying does not change it";
}

TEST(Plan, RanksOfAPlanHaveGpusOfTheMemoryThatIsSaid) {
    const auto notes_with = [](int64_t memory_bytes) {
        Topology topology = make_local_topology(2);
        give_gpus(topology, memory_bytes);
        config::PointSettings settings = small_point();
        settings.device = config::DeviceChoice::cuda;
        const Point point = point_of(settings, topology);
        EXPECT_EQ(point.device, DeviceKind::cuda);
        return point.notes;
    };
    EXPECT_THAT(notes_with(0), IsEmpty()) << "unknown, and no GPU is shared";
    EXPECT_THAT(notes_with(int64_t{80} << 30), IsEmpty());
    EXPECT_THAT(notes_with(int64_t{8} << 20), Contains(HasSubstr(" MiB, and its GPU has 8 for it")));
}

TEST(Plan, TheSmallestGpuDecidesWhetherAPointMayNotFit) {
    Topology topology = cuda_topology(3);
    for (RankPlace& place : topology.ranks) place.memory_bytes = int64_t{place.rank == 1 ? 8 : 8000} << 20;
    EXPECT_THAT(point_of(small_point(), topology).notes, Contains(HasSubstr("its GPU has 8")));
    config::PointSettings settings = small_point();
    settings.ranks.count = 1;
    EXPECT_THAT(point_of(settings, topology).notes, IsEmpty()) << "of those that take part";
    topology.ranks[2] = {.rank = 2, .host = topology.ranks[1].host, .local_rank = 2};
    settings.ranks.count = 2;
    EXPECT_THAT(point_of(settings, topology).notes, Contains(HasSubstr("its GPU has 8")));
}

TEST(Plan, OnlyCallsBeyondTheIndexLimitAreNoted) {
    config::PointSettings settings = small_point();
    settings.image.height = settings.image.width = 8192;
    const auto said = Contains(HasSubstr("status index_limit"));
    EXPECT_THAT(point_of(settings).notes, Not(said)) << "its windows are small";
    settings.workload = config::Workload::whole;
    EXPECT_THAT(point_of(settings).notes, said);
}

TEST(Plan, AChecksumIsVerifiedByProbesOnly) {
    config::PointSettings settings = small_point();
    settings.output = config::OutputKind::checksum;
    settings.protocol.verify = config::VerifyMode::full;
    EXPECT_THAT(refusal_of(settings), HasSubstr("verify.mode: probes"));
    settings.protocol.verify = config::VerifyMode::probes;
    EXPECT_THAT(point_of(settings).refusal, IsEmpty());
    settings.protocol.verify = config::VerifyMode::full;
    settings.output = config::OutputKind::file;
    EXPECT_THAT(point_of(settings).refusal, IsEmpty()) << "it keeps the pixels";
    settings.output = config::OutputKind::checksum;
    settings.engine = EngineKind::timed;
    EXPECT_THAT(point_of(settings).refusal, IsEmpty()) << "no network is run again";
}

TEST(Plan, AnOutputFileNeedsAnInputInPartsAndSavedImages) {
    config::PointSettings settings = small_point();
    settings.image.path = "photo.png";
    const auto planned = [&](bool windowed, bool save_images = true) {
        config::Config config{{}, {settings}, ""};
        config.study.save_images = save_images;
        return plan::make_plan(config, make_local_topology(1), [&](const config::ImageSettings&) {
            return SourceFacts{{64, 64}, 3, DType::u8, windowed};
        });
    };
    EXPECT_NO_THROW((void)planned(false, false)) << "where output: auto finds no file, it holds the image";
    for (const auto output : {config::OutputKind::file, config::OutputKind::checksum}) {
        settings.output = output;
        EXPECT_NO_THROW((void)planned(true));
        EXPECT_THAT(usage_error([&] { (void)planned(false); }), HasSubstr("photo.png is decoded as a whole"));
    }
    EXPECT_NO_THROW((void)planned(true, false)) << "a checksum";
    settings.output = config::OutputKind::file;
    EXPECT_THAT(usage_error([&] { (void)planned(true, false); }), HasSubstr("set save_images: on"));
}

TEST(Plan, ARefusedPointThatIsRepeatedKeepsItsReason) {
    std::vector<config::PointSettings> points(3, small_point());
    points[0].dtype = points[1].dtype = Precision::fp16;
    points[0].ranks.count = 1;
    const Plan plan = plan_of(points, make_local_topology(1));
    EXPECT_EQ(plan.points[1].key, plan.points[0].key);
    EXPECT_THAT(plan.points[1].refusal, HasSubstr("dtype = fp16"));
}

TEST(Plan, NotesAreThoseOfTheDeviceThatIsTaken) {
    const auto notes_on = [](config::PointSettings settings, config::DeviceChoice device) {
        settings.device = device;
        return point_of(settings, cuda_topology(2)).notes;
    };
    const auto expect_equal = [&](const config::PointSettings& settings, const std::string& note) {
        const auto notes = notes_on(settings, config::DeviceChoice::automatic);
        EXPECT_THAT(notes, Contains(HasSubstr(note)));
        EXPECT_EQ(notes, notes_on(settings, config::DeviceChoice::cuda));
    };
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    settings.dtype = Precision::fp16;
    expect_equal(settings, "a rank sends up to");
    settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.image.height = settings.image.width = 600;
    settings.cuda_graph = true;
    expect_equal(settings, "processed / useful pixels = ");
}

TEST(Plan, NotesSayWhatIsWastefulOrNotAsAsked) {
    config::PointSettings settings = small_point();
    settings.batch.count = 16;
    EXPECT_THAT(point_of(settings, make_local_topology(4)).notes, Contains(HasSubstr("instead of 16")));
    settings = small_point();
    EXPECT_THAT(point_of(settings).notes, IsEmpty());
    EXPECT_THAT(point_of(settings, make_local_topology(50)).notes, Contains(HasSubstr("ranks ")));
    settings.network = network::kind_of<network::DrunetShape>();
    settings.image.height = settings.image.width = 2048;
    settings.patch = 128;
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("arithmetic / that of the useful pixels")));
    settings.image.height = settings.image.width = 100;
    EXPECT_THAT(point_of(settings).notes, Not(Contains(HasSubstr("processed"))));
    settings.patch = 64;
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("1 window for 4 ")));
    settings.image.height = 64;
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("1 window for 2 ")));
}

TEST(Plan, TrainedSigmaIsForNetworksThatAreNotToldTheNoiseLevel) {
    config::PointSettings settings = small_point();
    settings.trained_sigma.level = 0.1;
    EXPECT_THAT(point_of(settings).notes, IsEmpty());
    settings.network = network::kind_of<network::DrunetShape>();
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("trained_sigma has no effect")));
    settings.trained_sigma = {};
    EXPECT_THAT(point_of(settings).notes, Not(Contains(HasSubstr("trained_sigma"))));
}

TEST(Plan, ANoisyImageWithoutALevelIsNoted) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    const auto said = Contains(HasSubstr("the network is told that there is no noise"));
    EXPECT_THAT(point_of(settings).notes, Not(said)) << "noise is added";
    settings.image.noise_sigma = 0;
    EXPECT_THAT(point_of(settings).notes, said);
    settings.sigma.level = 0.05;
    EXPECT_THAT(point_of(settings).notes, Not(said));
    settings.sigma = {};
    settings.network = network::kind_of<network::DncnnShape>();
    EXPECT_THAT(point_of(settings).notes, Not(said)) << "it is not told any level";
}

TEST(Plan, APointThatMayNotFitIsNotedAndRuns) {
    config::PointSettings settings = small_point();
    settings.memory_limit_mib = 3;  // the weights alone take 2.5
    const Point point = point_of(settings);
    EXPECT_THAT(point.refusal, IsEmpty());
    EXPECT_THAT(point.notes, Contains(AllOf(HasSubstr("predicted to take "), HasSubstr("memory_limit_mib = 3"))));
    settings.memory_limit_mib = 3000;
    EXPECT_THAT(point_of(settings).notes, IsEmpty());
}

TEST(Plan, ErrorsNameThePointAndTheKey) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.patch = 100;
    EXPECT_THAT(refusal_of(settings),
                AllOf(HasSubstr("point 0 (drunet-p100"), HasSubstr("patch = 100"), HasSubstr("96 and 104")));
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    EXPECT_THAT(refusal_of(settings), HasSubstr("patch = 100"));
    settings.layout = Layout::contiguous;  // in which no engine carries rows
    EXPECT_THAT(refusal_of(settings), HasSubstr("patch = 100")) << "even while the halo is open";
    settings.patch = 64;
    settings.halo = {config::HaloSetting::Kind::pixels, 20};
    EXPECT_THAT(refusal_of(settings),
                AllOf(HasSubstr("point 0 (drunet-p64-h20-b"), HasSubstr("halo = 20 px"), HasSubstr("16 and 24")));
    settings = small_point();
    settings.ranks.count = 8;
    EXPECT_THAT(refusal_of(settings, make_local_topology(4)),
                AllOf(HasSubstr("ranks = 8: only 4 "), HasSubstr("mpirun -n 8"), HasSubstr("--ranks 8")));
    EXPECT_THAT(refusal_of(settings, make_local_topology(1)),
                AllOf(HasSubstr("ranks = 8: only 1 was started"), Not(HasSubstr("no point of the study"))));
    settings = small_point();
    settings.slots = 9;
    EXPECT_THAT(refusal_of(settings), HasSubstr("slots = 9: "));
    settings = small_point();
    settings.replicate = true;
    EXPECT_THAT(refusal_of(settings), HasSubstr("replicate"));
}

TEST(Plan, DeviceChoicesThatCannotBeAreRefused) {
    config::PointSettings settings = small_point();
    settings.device = config::DeviceChoice::cuda;
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("device = cuda"), HasSubstr("rank 0")));
    settings = small_point();
    for (const Precision dtype : {Precision::fp16, Precision::tf32}) {
        settings.dtype = dtype;
        EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("dtype = "), HasSubstr("CUDA")));
        EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cuda);
    }
    Topology mixed = cuda_topology(3);
    mixed.ranks[1].device = {};
    EXPECT_THAT(refusal_of(small_point(), mixed), AllOf(HasSubstr("device = "), HasSubstr("rank 1")));
    settings = small_point();
    settings.engine = EngineKind::reference;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cpu);
    settings.dtype = Precision::bf16;
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("dtype = bf16"), HasSubstr("engine reference")));
    settings.engine = EngineKind::native;
    EXPECT_THAT(refusal_of(settings, bf16_topology(3, 1)), AllOf(HasSubstr("AVX512-BF16"), HasSubstr("ranks 1-2")));
    EXPECT_EQ(point_of(settings, bf16_topology(3, 3)).device, DeviceKind::cpu);
    settings.ranks.count = 1;
    EXPECT_EQ(point_of(settings, bf16_topology(3, 1)).num_ranks, 1) << "the others take no part";
    settings.ranks = {};
    settings.dtype = Precision::fp16;
    EXPECT_THAT(refusal_of(settings), HasSubstr("native computes in fp32 and bf16 only"));
    settings.dtype = Precision::fp32;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cpu);
    settings.layout = Layout::contiguous;
    EXPECT_THAT(refusal_of(settings), HasSubstr("takes channels_last only"));
    settings.layout = Layout::channels_last;
    settings.device = config::DeviceChoice::cuda;
    EXPECT_THAT(refusal_of(settings, cuda_topology(1)), HasSubstr("native: computes on the CPU only"));
    settings.engine = EngineKind::openvino;
    EXPECT_THAT(refusal_of(settings, cuda_topology(1)), HasSubstr("openvino: computes on the CPU only"));
    settings.engine = EngineKind::pytorch;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cuda);
    settings.device = config::DeviceChoice::automatic;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cpu) << "the device only where it is asked for";
    settings = small_point();
    settings.engine = EngineKind::onnxruntime;
    settings.dtype = Precision::bf16;
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("dtype = bf16"), HasSubstr("onnxruntime computes in fp32 only")));
    for (const EngineKind engine :
         {EngineKind::openvino, EngineKind::pytorch, EngineKind::tensorflow, EngineKind::jax, EngineKind::python}) {
        settings.engine = engine;
        EXPECT_EQ(point_of(settings).settings.engine, engine);
    }
    settings.engine = EngineKind::onnxruntime;
    settings.dtype = Precision::fp32;
    EXPECT_EQ(label_of(point_of(settings)), "dncnn-onnxruntime-p64-h20-b4-fp32");
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cpu);
    settings.device = config::DeviceChoice::cuda;
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cuda);
}

TEST(Plan, RanksOnOneDeviceAreRefusedOrNoted) {
    Topology topology = cuda_topology(3);
    topology.ranks[2].device_uuid = topology.ranks[1].device_uuid;
    EXPECT_THAT(refusal_of(small_point(), topology),
                AllOf(HasSubstr("devices.sharing"), HasSubstr("ranks 1-2 "), HasSubstr("Test GPU GPU-1 on localhost")));
    config::PointSettings two = small_point();
    two.ranks.count = 2;  // the third sleeps
    EXPECT_THAT(point_of(two, topology).notes, IsEmpty());
    config::Config config;
    config.points = {small_point()};
    config.study.device_sharing = config::SharingRule::allow;
    EXPECT_THAT(make_plan(config, topology, no_file).points.front().notes, Contains(HasSubstr("ranks 1-2 ")));
}

TEST(Plan, NcclByNameIsRefusedWhereARankHasNoGpuOfItsOwn) {
    config::Config config;
    config.points = {small_point()};
    config.study.device_sharing = config::SharingRule::allow;
    const auto refusal = [&](const Topology& topology) {
        return usage_error([&] { (void)make_plan(config, topology, no_file); });
    };
    Topology shared = cuda_topology(2);
    shared.ranks[1].device_uuid = shared.ranks[0].device_uuid;
    config.study.reduction = ReductionKind::nccl;
    EXPECT_THAT(refusal(make_local_topology(1)), HasSubstr("metrics.reduction = nccl: NCCL needs GPUs"));
    EXPECT_THAT(refusal(shared), AllOf(HasSubstr("metrics.reduction = nccl"), HasSubstr("ranks 0-1 share")));
    EXPECT_THAT(refusal(cuda_topology(2)), HasSubstr("was not thrown"));
    config.study.reduction = ReductionKind::automatic;
    config.study.exchange = ExchangeKind::nccl;
    EXPECT_THAT(refusal(make_local_topology(2)), HasSubstr("was not thrown")) << "nothing travels";
    EXPECT_THAT(refusal(make_local_topology(2, 1)), HasSubstr("exchange = nccl: NCCL needs GPUs"));
    config.points.front().halo.kind = config::HaloSetting::Kind::exchanged;
    EXPECT_THAT(refusal(make_local_topology(1)), HasSubstr("was not thrown"));
    EXPECT_THAT(refusal(make_local_topology(2)), HasSubstr("exchange = nccl: NCCL needs GPUs"));
    config.points.front().halo.kind = config::HaloSetting::Kind::automatic;
    config.points.front().engine = EngineKind::native;
    config.points.front().image.height = config.points.front().image.width = 256;
    EXPECT_THAT(refusal(make_local_topology(2)), HasSubstr("exchange = nccl: NCCL needs GPUs")) << "it may exchange";
}

TEST(Plan, AFileIsLookedUpForEachOfItsRanges) {
    const SourceLookup lookup = [](const config::ImageSettings& image) {
        if (image.range == "0:4095" || image.nodata == "7") throw UsageError("does not fit the file");
        return SourceFacts{{64, 64}, 1};
    };
    config::PointSettings settings = small_point(), other = settings;
    settings.image.path = other.image.path = "photo.tif";
    for (std::string config::ImageSettings::*setting :
         {&config::ImageSettings::range, &config::ImageSettings::nodata}) {
        other.image = settings.image;
        other.image.*setting = setting == &config::ImageSettings::range ? "0:4095" : "7";
        EXPECT_THAT(usage_error([&] {
                        (void)plan_of({settings, other}, make_local_topology(1), lookup);
                    }),
                    HasSubstr("does not fit the file"));
    }
}

TEST(Plan, FilesAreLookedUpOnceAndCroppedAtTheirCentre) {
    int calls = 0;
    const SourceLookup lookup = [&](const config::ImageSettings&) {
        ++calls;
        return SourceFacts{{101, 80}, 1};
    };
    config::PointSettings settings = small_point();
    settings.image.path = "photo.png";
    config::PointSettings cropped = settings;
    cropped.image.crop_height = 50;
    const Plan plan = plan_of({settings, cropped}, make_local_topology(1), lookup);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(plan.points[0].source.extent, (Extent{101, 80}));
    EXPECT_EQ(plan.points[1].source.extent, (Extent{50, 80}));
    EXPECT_THAT(plan.points[0].notes, Contains(HasSubstr("image.height, image.width and image.channels ")));
    EXPECT_EQ(plan.points[1].source.channels, 1);
    config::PointSettings as_it_is;
    as_it_is.batch.count = 1;
    as_it_is.image.path = "photo.png";
    EXPECT_THAT(plan_of({as_it_is}, make_local_topology(1), lookup).points[0].notes, IsEmpty());
    as_it_is.image.channels = 1;
    EXPECT_THAT(plan_of({as_it_is}, make_local_topology(1), lookup).points[0].notes,
                Contains(HasSubstr("image.channels have no effect")));
    EXPECT_EQ(crop_of(cropped.image, {101, 80}), (Rect{25, 0, {50, 80}}));
    cropped.image.crop_width = 81;
    EXPECT_THAT(usage_error([&] { (void)plan_of({cropped}, make_local_topology(1), lookup); }),
                AllOf(HasSubstr("image.crop_width"), HasSubstr("50x81 px"), HasSubstr("photo.png of 101x80 px")));
}

TEST(Plan, FilesAreLookedUpForEachChoiceOfBands) {
    std::vector<config::PointSettings> points(2, small_point());
    points[0].image.path = points[1].image.path = "photo.tif";
    points[1].image.bands = "2";
    const Plan plan = plan_of(points, make_local_topology(1), [](const config::ImageSettings& image) {
        return SourceFacts{{101, 80}, image.bands.empty() ? 3 : 1};
    });
    EXPECT_EQ(plan.points[0].source.channels, 3);
    EXPECT_EQ(plan.points[1].source.channels, 1);
}

TEST(Plan, SettingsOfFilesNeedAFile) {
    using config::ImageSettings;
    const std::pair<std::string ImageSettings::*, const char*> kSettings[] = {{&ImageSettings::range, "0:1"},
                                                                              {&ImageSettings::nodata, "0"},
                                                                              {&ImageSettings::bands, "1"},
                                                                              {&ImageSettings::clean, "clean.png"}};
    for (const auto& [setting, value] : kSettings) {
        config::PointSettings settings = small_point();
        settings.image.*setting = value;
        EXPECT_THAT(usage_error([&] { (void)point_of(settings); }), HasSubstr("image.path")) << value;
    }
}

TEST(Plan, ThreadsAreThoseOfTheRankWithMostAndAFewForEachCoreAtMost) {
    Topology topology = make_local_topology(3);
    for (RankPlace& place : topology.ranks) {
        place.threads = place.num_cores = place.rank == 1 ? 8 : 2;
        place.affinity = "0-1";
    }
    EXPECT_EQ(point_of(small_point(), topology).threads, 8);
    config::PointSettings settings = small_point();
    settings.threads.count = 32;
    EXPECT_EQ(point_of(settings, topology).threads, 32);
    EXPECT_THAT(point_of(settings, topology).notes, Contains(AllOf(HasSubstr("threads = 32"), HasSubstr("takes 2"))));
    settings.threads.count = 2;
    EXPECT_THAT(point_of(settings, topology).notes, Not(Contains(HasSubstr("threads"))));
    settings.threads.count = 33;
    EXPECT_THAT(refusal_of(settings, topology),
                AllOf(HasSubstr("threads = 33"), HasSubstr("2 cores"), HasSubstr("32")));
    settings.threads.count = 32;
    topology.ranks.front().threads = 1;
    EXPECT_EQ(point_of(settings, topology).threads, 32) << "cores that ranks share count whole";
    topology.ranks[2].threads = topology.ranks[2].num_cores = 1;
    EXPECT_THAT(refusal_of(settings, topology), AllOf(HasSubstr("rank 2 may use 1 core;"), HasSubstr("at most 16")));
    topology.ranks[2].threads = 16;  // of a core that is its own, beside ranks that share more
    EXPECT_THAT(refusal_of(settings, topology), HasSubstr("rank 2 may use 1 core;"));
    settings.threads.count = 9;
    settings.ranks.count = 2;
    for (const int fewer : {0, 1}) {
        for (int rank : {0, 1}) topology.ranks[static_cast<size_t>(rank)].threads = rank == fewer ? 1 : 9;
        EXPECT_THAT(point_of(settings, topology).notes,
                    Contains(HasSubstr("than rank " + std::to_string(fewer) + " ")));
    }
}

TEST(Plan, AStudyGoesOnWithoutWhatThisLaunchCannotDo) {
    std::vector<config::PointSettings> asked(5, small_point());
    asked[1].ranks.count = 3;
    asked[2].device = config::DeviceChoice::cuda;
    asked[3].dtype = Precision::fp16;
    asked[4].network = network::kind_of<network::DrunetShape>();
    asked[4].workload = config::Workload::whole;
    asked[4].image.width = 201;
    asked[4].odd_shape = OddShape::error;
    const Plan plan = plan_of(asked, make_local_topology(2));
    EXPECT_THAT(plan.points[0].refusal, IsEmpty());
    EXPECT_THAT(plan.points[1].refusal, HasSubstr("mpirun -n 3"));
    EXPECT_THAT(plan.points[2].refusal, HasSubstr("device = cuda"));
    EXPECT_THAT(plan.points[3].refusal, HasSubstr("fp16"));
    EXPECT_THAT(plan.points[4].refusal, HasSubstr("odd_shape"));
    std::set<std::string> keys;
    for (const Point& point : plan.points) {
        keys.insert(point.key);
        EXPECT_TRUE(point.batch.has_value()) << "what it would have been";
        EXPECT_EQ(predict(point).has_value(), point.refusal.empty());
    }
    EXPECT_EQ(keys.size(), 5U) << "a refused point is another measurement than one that runs";
    asked.erase(asked.begin());
    EXPECT_THAT(usage_error([&] { (void)plan_of(asked, make_local_topology(2)); }),
                AllOf(HasSubstr("point 0 "), HasSubstr("mpirun -n 3"), HasSubstr("(no point of the study can run")));
    asked[0].patch = 0;
    EXPECT_THAT(usage_error([&] { (void)plan_of(asked, make_local_topology(2)); }), HasSubstr("patch = 0"))
        << "a wrong value is a mistake, not a refusal";
}

TEST(Plan, AShapeThatIsRefusedOnEachDeviceIsTwoMeasurements) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.workload = config::Workload::whole;
    settings.image.width = 201;
    settings.odd_shape = OddShape::error;
    std::vector<config::PointSettings> asked(3, settings);
    asked[0] = small_point();
    asked[1].device = config::DeviceChoice::cpu;
    asked[2].device = config::DeviceChoice::cuda;
    const Plan plan = plan_of(asked, cuda_topology(1));
    EXPECT_NE(plan.points[1].key, plan.points[2].key);
    EXPECT_THAT(plan.points[2].notes, IsEmpty());
}

TEST(Plan, FusionOnHasNoEffectOnRowsAlone) {
    config::PointSettings settings = small_point();
    settings.fusion = FusionKind::on;
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, IsEmpty());
    settings.halo.kind = config::HaloSetting::Kind::carried;
    const auto said = Contains("fusion has no effect on carried and exchanged rows");
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, said);
    settings.fusion = FusionKind::automatic;
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, Not(said));
}

TEST(Plan, LargestLeavesTheBatchOpen) {
    config::PointSettings settings = small_point();
    settings.batch = {0, true};
    Point point = point_of(settings);
    EXPECT_FALSE(point.batch.has_value());
    EXPECT_EQ(label_of(point), "dncnn-p64-h20-blargest-fp32");
    settings.batch.largest = false;
    EXPECT_NE(point_of(settings).key, point.key);
}

TEST(Plan, WholeImagesAreOneBatchEach) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DrunetShape>();
    settings.workload = config::Workload::whole;
    settings.image.height = 2048;
    settings.image.width = 1228;
    settings.odd_shape = OddShape::split;
    const Point point = point_of(settings, make_local_topology(2));
    EXPECT_EQ(label_of(point), "drunet-2048x1228-split-fp32");
    EXPECT_EQ(point.batch, 1);
    EXPECT_THAT(point.notes, Contains(HasSubstr("rank 0 of 2")));
    EXPECT_THAT(point.notes, Not(Contains(HasSubstr("pads instead"))));
    const Prediction prediction = *predict(point);
    EXPECT_EQ(prediction.pixels_per_forward, 1088 * 640);
    EXPECT_DOUBLE_EQ(prediction.flop, 2.0 * 2'117'568 * 4 * 1088 * 640);
    EXPECT_DOUBLE_EQ(prediction.flop_busiest_rank, prediction.flop);
    settings.replicate = true;
    const Point copies = point_of(settings, make_local_topology(2));
    EXPECT_THAT(copies.notes, Not(Contains(HasSubstr("rank 0 of 2"))));
    EXPECT_DOUBLE_EQ(predict(copies)->flop, 2 * prediction.flop);
    EXPECT_DOUBLE_EQ(processed_per_useful(copies), 4.0 * 1088 * 640 / (2048 * 1228)) << "of one image";
    settings.output = config::OutputKind::memory;
    EXPECT_EQ(point_of(settings).batch, 1) << "where auto leaves it, too";
    settings.output = config::OutputKind::file;
    EXPECT_THAT(refusal_of(settings), HasSubstr("output = file: needs workload: tiles"));
    settings.output = config::OutputKind::automatic;
    settings.odd_shape = OddShape::error;
    EXPECT_THAT(refusal_of(settings), HasSubstr("2048x1224 and 2048x1232"));
}

}  // namespace
}  // namespace pb::plan
