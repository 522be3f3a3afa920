#include "plan/plan.hpp"

#include "network/parts/band_pieces.hpp"
#include "plan/bands.hpp"
#include "plan/context.hpp"
#include "plan/prediction.hpp"
#include "plan/slabs.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace pb::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

SourceFacts no_file(const config::ImageSettings& image) {
    throw UsageError("unexpected look-up of '" + image.path + "'");
}

Topology cuda_topology(int num_ranks) {
    Topology topology = make_local_topology(num_ranks);
    for (RankPlace& place : topology.ranks) {
        place.device = {DeviceKind::cuda, place.rank};
        place.device_name = "Test GPU";
        place.device_uuid = "GPU-" + std::to_string(place.rank);
    }
    return topology;
}

/// CPU ranks of which `with_bf16` have products of bf16.
Topology bf16_topology(int num_ranks, int with_bf16) {
    Topology topology = make_local_topology(num_ranks);
    for (RankPlace& place : topology.ranks) place.multiplies_bf16 = place.rank < with_bf16;
    return topology;
}

config::PointSettings small_point() {
    config::PointSettings settings;
    settings.patch = 64;
    settings.image.height = 300;
    settings.image.width = 200;
    return settings;
}

Plan plan_of(const std::vector<config::PointSettings>& points, const Topology& topology,
             const SourceLookup& lookup = no_file) {
    config::Config config;
    config.points = points;
    return make_plan(config, topology, lookup);
}

Point point_of(const config::PointSettings& settings, const Topology& topology = make_local_topology(1)) {
    return plan_of({settings}, topology).points.front();
}

std::string refusal_of(const config::PointSettings& settings, const Topology& topology = make_local_topology(1)) {
    return usage_error([&] { (void)point_of(settings, topology); });
}

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
    settle_batch(point, 2);
    EXPECT_EQ(point.batch, 2);
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
    EXPECT_THAT(point_of(settings).notes, testing::Not(Contains(HasSubstr("processed"))));
    settings.patch = 64;
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("1 windows for 4 ")));
    settings.image.height = 64;
    EXPECT_THAT(point_of(settings).notes, Contains(HasSubstr("1 windows for 2 ")));
}

TEST(Plan, ErrorsNameThePointAndTheKey) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.patch = 100;
    EXPECT_THAT(refusal_of(settings),
                AllOf(HasSubstr("point 0 (drunet-p100"), HasSubstr("patch = 100"), HasSubstr("96 and 104")));
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    EXPECT_THAT(refusal_of(settings), HasSubstr("patch = 100"));
    settings.patch = 64;
    settings.halo = {config::HaloSetting::Kind::pixels, 20};
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("halo = 20 px"), HasSubstr("16 and 24")));
    settings = small_point();
    settings.ranks.count = 8;
    EXPECT_THAT(refusal_of(settings, make_local_topology(4)),
                AllOf(HasSubstr("ranks = 8: only 4 "), HasSubstr("mpirun -n 8"), HasSubstr("--ranks 8")));
    EXPECT_THAT(refusal_of(settings, make_local_topology(1)), HasSubstr("ranks = 8: only 1 "));
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

TEST(Plan, AnAutomaticEngineIsNativeWhereItCanRunThePoint) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    const Point point = point_of(settings);
    EXPECT_EQ(point.settings.engine, EngineKind::native);
    settings.engine = EngineKind::native;
    EXPECT_EQ(point.key, point_of(settings).key) << "one point, whoever chose the engine";
    settings.engine = config::EngineSetting::automatic();
    EXPECT_EQ(point_of(settings, cuda_topology(1)).settings.engine, EngineKind::torch);
    EXPECT_EQ(point_of(settings, cuda_topology(1)).device, DeviceKind::cuda);
    settings.layout = Layout::contiguous;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::torch);
    settings.layout = Layout::channels_last;
    settings.dtype = Precision::bf16;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::torch);
    EXPECT_EQ(point_of(settings, bf16_topology(2, 1)).settings.engine, EngineKind::torch);
    EXPECT_EQ(point_of(settings, bf16_topology(2, 2)).settings.engine, EngineKind::native);
    settings.dtype = Precision::fp16;
    EXPECT_THAT(refusal_of(settings, bf16_topology(1, 1)), HasSubstr("needs a CUDA device"));
}

TEST(Plan, AnAutomaticEngineIsTorchInBf16WhereWinogradsMethodFitsFewLayers) {
    Point point = point_of(small_point(), bf16_topology(1, 1));
    point.settings.dtype = Precision::bf16;
    for (const auto& [width, engine] : {std::pair{32, EngineKind::native}, {8, EngineKind::torch}}) {
        point.relative = network::DncnnShape{.width = width};
        EXPECT_EQ(fastest_engine(point), engine) << width;
    }
    point.settings.halo.kind = config::HaloSetting::Kind::carried;
    EXPECT_EQ(fastest_engine(point), EngineKind::native) << "no other engine carries rows";
}

TEST(Plan, AnAutomaticEngineIsTorchWhereTransformedWeightsDoNotFit) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    for (const auto& [limit_mib, engine] : {std::pair{8, EngineKind::torch}, {64, EngineKind::native}}) {
        settings.memory_limit_mib = limit_mib;
        EXPECT_EQ(point_of(settings).settings.engine, engine) << "DnCNN's take 10 MiB instead of 2.5 MiB";
    }
}

/// A point of engine native, its memory limit in MiB.
Point native_point(int64_t limit_mib, const config::PointSettings& like = small_point()) {
    config::PointSettings settings = like;
    settings.engine = EngineKind::native;
    settings.memory_limit_mib = limit_mib;
    return point_of(settings);
}

TEST(Plan, TilesOfNativeAreSmallWhereOnlyTheirWeightsFitTheMemoryLimit) {
    const Point usual = native_point(0);
    EXPECT_FALSE(usual.winograd_tile.has_value());
    const auto needed = static_cast<int64_t>(predict(usual)->peak_mib) + 1;
    EXPECT_FALSE(native_point(needed).winograd_tile.has_value());
    const Point small = native_point(needed - 1);
    EXPECT_EQ(small.winograd_tile, 2);
    EXPECT_NEAR(predict(usual)->peak_mib - predict(small)->peak_mib, 18.0 * 64 * 64 * 20 * 4 / kMiB, 0.2);
    EXPECT_THAT(small.notes, testing::Contains(HasSubstr("for 5 instead of 10 MiB of weights")));
    EXPECT_FALSE(native_point(needed - 7).winograd_tile.has_value()) << "they would not fit, either";
    EXPECT_EQ(small.key, native_point(needed - 1).key);
}

TEST(Plan, TilesOfNativeHaveOneSizeInBf16) {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::native;
    settings.dtype = Precision::bf16;
    const Point usual = point_of(settings, bf16_topology(1, 1));
    settings.memory_limit_mib = static_cast<int64_t>(predict(usual)->peak_mib);
    const Point limited = point_of(settings, bf16_topology(1, 1));
    EXPECT_FALSE(limited.winograd_tile.has_value());
    EXPECT_DOUBLE_EQ(predict(limited)->peak_mib, predict(usual)->peak_mib);
}

TEST(Plan, RanksOfANodeShareTheWeightsOfNative) {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::native;
    const auto weights_mib = [&](const Topology& topology) {
        return peak_parts(point_of(settings, topology)).weights / kMiB;
    };
    Topology topology = make_local_topology(1);
    const double whole = weights_mib(topology);
    EXPECT_NEAR(weights_mib(make_local_topology(4)), whole / 4, 1e-6);
    topology.num_apart = 3;
    EXPECT_NEAR(weights_mib(topology), whole / 3, 1e-6) << "ranks beside it denoise other images";
    topology = make_local_topology(5);
    for (int rank : {3, 4}) {
        topology.ranks[static_cast<size_t>(rank)].node = 1;
        topology.ranks[static_cast<size_t>(rank)].local_rank = rank - 3;
    }
    EXPECT_NEAR(weights_mib(topology), whole / 2, 1e-6) << "on the node with the fewest ranks";
    settings.ranks.count = 2;
    EXPECT_NEAR(weights_mib(topology), whole / 2, 1e-6) << "of the ranks that take part";
    settings.placement = config::Placement::scatter;
    EXPECT_NEAR(weights_mib(topology), whole, 1e-6);
    settings.engine = EngineKind::torch;
    settings.ranks = {};
    const double torch = weights_mib(make_local_topology(1));
    EXPECT_EQ(weights_mib(make_local_topology(4)), torch);
}

TEST(Plan, AnAutomaticEngineIsNativeWhereWeightsOfSmallTilesFit) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.memory_limit_mib = static_cast<int64_t>(predict(native_point(0))->peak_mib);
    const Point point = point_of(settings);
    EXPECT_EQ(point.settings.engine, EngineKind::native);
    EXPECT_EQ(point.winograd_tile, 2);
}

TEST(Plan, TilesOfNativeFollowTheRowsAndTheWholeImageThatARankTakes) {
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::carried;
    const auto needed = static_cast<int64_t>(predict(native_point(0, settings))->peak_mib);
    EXPECT_EQ(native_point(needed, settings).winograd_tile, 2);
    EXPECT_FALSE(native_point(needed + 1, settings).winograd_tile.has_value());
    settings.halo = {};
    settings.workload = config::Workload::whole;
    const auto whole = static_cast<int64_t>(predict(native_point(0, settings))->peak_mib);
    EXPECT_EQ(native_point(whole, settings).winograd_tile, 2);
    EXPECT_FALSE(native_point(whole + 1, settings).winograd_tile.has_value());
}

TEST(Plan, AnAutomaticEngineTakesTheFileOfANetwork) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    for (const auto& [file, engine] : {std::pair{"own.onnx", EngineKind::onnxruntime},
                                       {"own.py", EngineKind::pytorch},
                                       {"own.pt2", EngineKind::torch},
                                       {"own.pt", EngineKind::torch}}) {
        settings.network = network::kBroughtKind;
        settings.network.file = file;
        settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
        const Point point = point_of(settings, cuda_topology(1));
        EXPECT_EQ(point.settings.engine, engine);
        const bool takes_gpu = engine == EngineKind::torch;
        EXPECT_EQ(point.device, takes_gpu ? DeviceKind::cuda : DeviceKind::cpu) << "other processes compute on the CPU";
    }
}

TEST(Plan, FilesOfOtherEnginesAreRefused) {
    config::PointSettings settings = small_point();
    settings.network = network::kBroughtKind;
    settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
    settings.network.file = "own.pt";
    for (const EngineKind engine : {EngineKind::torch, EngineKind::pytorch, EngineKind::python}) {
        settings.engine = engine;
        EXPECT_EQ(point_of(settings).settings.engine, engine);
    }
    for (const EngineKind engine : {EngineKind::onnxruntime, EngineKind::native, EngineKind::jax}) {
        settings.engine = engine;
        EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.pt"), HasSubstr("torch, pytorch or python:FILE")));
    }
    settings.engine = EngineKind::torch;
    settings.cuda_graph = true;
    EXPECT_THAT(refusal_of(settings, cuda_topology(1)), HasSubstr("cuda_graph = true: own.pt is code"));
    settings.cuda_graph = false;
    settings.network.file = "own.pt2";
    settings.engine = EngineKind::native;
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.pt2"), HasSubstr("torch, pytorch or python:FILE")));
}

TEST(Plan, FilesInBf16) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.network = network::kBroughtKind;
    settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
    settings.network.file = "own.onnx";
    settings.dtype = Precision::bf16;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::openvino) << "ONNX Runtime has no bf16";
    settings.network.file = "own.py";
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("dtype = bf16: own.py is code"), HasSubstr("dtype: fp32")));
    settings.dtype = Precision::fp32;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::pytorch);
}

TEST(Plan, ABroughtNetworkOfOurOperationsIsPlannedAsOneOfTheList) {
    const network::DncnnShape shape{.depth = 4, .width = 32};
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.network = network::kBroughtKind;
    settings.network.file = "own.onnx";
    settings.network.card = network::NetworkCard{.radius = 4, .halo = 4, .layers = shape.graph()};
    const Point point = point_of(settings);
    EXPECT_EQ(point.settings.engine, EngineKind::native);
    EXPECT_EQ(point.graph(), shape.graph());
    EXPECT_EQ(point.facts().mac_per_pixel, network::network_facts(shape).mac_per_pixel);
    Point same = point;
    same.settings.network = network::kind_of<network::DncnnShape>();
    same.relative = shape;
    ASSERT_TRUE(predict(point));
    EXPECT_EQ(predict(point)->peak_mib, predict(same)->peak_mib);
    EXPECT_EQ(predict(point)->flop, predict(same)->flop);
    settings.halo = {config::HaloSetting::Kind::carried, 0};
    EXPECT_TRUE(is_carried(point_of(settings)));
    for (const EngineKind engine : {EngineKind::torch, EngineKind::onnxruntime, EngineKind::openvino}) {
        settings.halo = {config::HaloSetting::Kind::exact, 0};
        settings.engine = engine;
        EXPECT_EQ(point_of(settings).halo, 4);
    }
    settings.engine = EngineKind::jax;
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.onnx"), HasSubstr("torch, native, onnxruntime, openvino")));
}

TEST(Plan, TheNodeThatKeepsLayersFromBeingKnownIsNamed) {
    config::PointSettings settings = small_point();
    settings.network = network::kBroughtKind;
    settings.network.file = "own.onnx";
    settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
    settings.network.obstacle = "node '/body/Gelu' ('Gelu'): an operator that is not known here";
    for (const EngineKind engine : {EngineKind::torch, EngineKind::native}) {
        settings.engine = engine;
        EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.onnx"), HasSubstr("(" + settings.network.obstacle + ")"),
                                                HasSubstr("onnxruntime, openvino")));
    }
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

TEST(Plan, KeysTellMeasurementsApartAndRecogniseEqualOnes) {
    std::vector<config::PointSettings> points(4, small_point());
    points[1].patch = 128;
    points[2].image.seed = 8;
    points[3].ranks.count = 2;  // all of two
    const Plan plan = plan_of(points, make_local_topology(2));
    std::set<std::string> keys;
    for (const Point& point : plan.points) {
        EXPECT_EQ(point.key.size(), 16U);
        keys.insert(point.key);
    }
    EXPECT_EQ(keys.size(), 3U);
    EXPECT_EQ(plan.points[3].key, plan.points[0].key);
    EXPECT_THAT(plan.points[3].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(point_of(small_point()).key, plan.points[0].key);  // another number of ranks
}

TEST(Plan, ABatchThatComesToThatOfAnotherPointIsTheSameMeasurement) {
    std::vector<config::PointSettings> points(3, small_point());
    points[0].patch = points[1].patch = 512;  // one window
    points[0].batch.count = 1;
    points[1].batch.count = points[2].batch.count = 4;
    const Plan plan = plan_of(points, make_local_topology(1));
    EXPECT_EQ(plan.points[1].key, plan.points[0].key);
    EXPECT_THAT(plan.points[1].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(plan.points[2].key, plan.points[0].key);
}

TEST(Plan, AnExactHaloIsTheSameMeasurementAsItsPixels) {
    std::vector<config::PointSettings> points(3, small_point());
    points[1].halo = {config::HaloSetting::Kind::pixels, 20};
    points[2].halo = {config::HaloSetting::Kind::pixels, 19};
    const Plan plan = plan_of(points, make_local_topology(1));
    EXPECT_EQ(plan.points[1].key, plan.points[0].key);
    EXPECT_THAT(plan.points[1].notes, Contains(HasSubstr("point 0")));
    EXPECT_NE(plan.points[2].key, plan.points[0].key);
}

TEST(Plan, WhatWasFoundByTryingDoesNotChangeTheKey) {
    config::PointSettings settings = small_point();
    settings.halo.kind = config::HaloSetting::Kind::automatic;
    settings.batch.count = 0;
    Point point = point_of(settings);
    point.halo = 8;
    point.batch = 2;
    EXPECT_EQ(key_of(point), point.key);
}

TEST(Plan, KeysHoldTheSigmaThatTheNetworkIsTold) {
    config::PointSettings told = small_point();
    told.sigma = 0.2;
    EXPECT_NE(point_of(told).key, point_of(small_point()).key);
    told.sigma = told.image.noise_sigma;
    EXPECT_EQ(point_of(told).key, point_of(small_point()).key) << "auto is the noise that is added";
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
    settings.threads.count = 33;
    EXPECT_THAT(refusal_of(settings, topology),
                AllOf(HasSubstr("threads = 33"), HasSubstr("2 core(s)"), HasSubstr("32")));
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
                AllOf(HasSubstr("point 0 "), HasSubstr("mpirun -n 3")));
    asked[0].patch = 0;
    EXPECT_THAT(usage_error([&] { (void)plan_of(asked, make_local_topology(2)); }), HasSubstr("patch = 0"))
        << "a wrong value is a mistake, not a refusal";
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
    EXPECT_THAT(point.notes, Contains(HasSubstr("rank 0 of 2")));
    const Prediction prediction = *predict(point);
    EXPECT_EQ(prediction.pixels_per_forward, 1088 * 640);
    EXPECT_DOUBLE_EQ(prediction.flop, 2.0 * 2'117'568 * 4 * 1088 * 640);
    EXPECT_DOUBLE_EQ(prediction.flop_busiest_rank, prediction.flop);
    settings.replicate = true;
    const Point copies = point_of(settings, make_local_topology(2));
    EXPECT_DOUBLE_EQ(predict(copies)->flop, 2 * prediction.flop);
    EXPECT_DOUBLE_EQ(processed_per_useful(copies), 4.0 * 1088 * 640 / (2048 * 1228)) << "of one image";
    settings.odd_shape = OddShape::error;
    EXPECT_THAT(refusal_of(settings), HasSubstr("2048x1224 and 2048x1232"));
}

TEST(Prediction, CountsPaddedBatchesAndFollowsTheFormula) {
    config::PointSettings settings = small_point();
    settings.layout = Layout::contiguous;  // in which windows are not cropped
    settings.batch.count = 4;
    const Point padded = point_of(settings, make_local_topology(3));
    const TileGrid grid = tile_grid(padded);
    const auto window = static_cast<double>(grid.window().pixels());
    double windows = 0;
    for (int rank = 0; rank < 3; ++rank)
        windows += static_cast<double>(round_up(windows_of_rank(padded, grid, rank).size(), 4));
    EXPECT_GT(windows, static_cast<double>(grid.num_windows()));
    EXPECT_DOUBLE_EQ(predict(padded)->flop, 2.0 * 667'008 * window * windows);
    const auto image = static_cast<double>(grid.image().pixels());
    EXPECT_DOUBLE_EQ(processed_per_useful(padded), window * windows / image);
    Point open = padded;
    open.batch.reset();
    EXPECT_DOUBLE_EQ(processed_per_useful(open), static_cast<double>(grid.processed_pixels()) / image);
    settings.last_batch = config::LastBatch::ragged;
    EXPECT_DOUBLE_EQ(predict(point_of(settings, make_local_topology(3)))->flop,
                     2.0 * 667'008 * static_cast<double>(grid.processed_pixels()));
    const int one_fewer = static_cast<int>(grid.num_windows()) - 1;  // one rank has two windows, the others one
    EXPECT_DOUBLE_EQ(predict(point_of(settings, make_local_topology(one_fewer)))->flop_busiest_rank,
                     2.0 * 667'008 * window * 2);
    EXPECT_DOUBLE_EQ(predict(padded)->peak_mib * kMiB,
                     668'227 * 4 + 64 * 64 * 9 * 4 + 4 * window * (512 + 512 + 4 * 6));
}

PeakParts parts_of(const config::PointSettings& settings, DeviceKind device, const SourceFacts& source = {}) {
    Point point;
    point.settings = settings;
    point.device = device;
    point.source = source;
    return peak_parts(point);
}

TEST(Prediction, SixteenBitTypesHalveThePeakAndSlotsAddToIt) {
    const auto peak = [](Precision dtype, int64_t slots) {
        config::PointSettings settings;
        settings.network = network::kind_of<network::DrunetShape>();
        settings.dtype = dtype;
        return parts_of(settings, DeviceKind::cpu).peak(1 << 20, slots);
    };
    EXPECT_DOUBLE_EQ(peak(Precision::bf16, 2), peak(Precision::fp32, 2) / 2);
    EXPECT_DOUBLE_EQ(peak(Precision::fp32, 3) - peak(Precision::fp32, 2), (1 << 20) * 4.0 * 7);
}

TEST(Prediction, OfTheEngineNativeIsItsArenaItsScratchAndItsTransformedWeights) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DncnnShape>();
    settings.engine = EngineKind::native;
    settings.workload = config::Workload::whole;  // of tiles less is computed (cropping_test.cpp)
    settings.threads.count = 3;
    const PeakParts parts = peak_parts(point_of(settings, make_local_topology(1)));
    // 18 layers of 64 to 64 channels with 36 values for each kernel, 3 to 64, 64 to 3, and biases of whole panels.
    EXPECT_DOUBLE_EQ(parts.weights, 4.0 * (18 * (36 * 64 * 64 + 64) + 9 * 3 * 64 + 64 + 9 * 64 * 3 + 32));
    const int64_t scratch = 3 * 4 * (36 * 28 * (64 + 16) + 36 * 28 * 32 + 36 * 64);
    EXPECT_EQ(parts.scratch_bytes, scratch);
    EXPECT_DOUBLE_EQ(parts.peak(1 << 20, 1), parts.weights + (1 << 20) * (4 * 6 + 512.0) + scratch);
}

TEST(Prediction, OfTheEngineNativeInBf16HasSmallerWeightsAndTheSameMaps) {
    config::PointSettings settings = small_point();
    settings.network = network::kind_of<network::DncnnShape>();
    settings.engine = EngineKind::native;
    settings.workload = config::Workload::whole;
    const auto of = [&](Precision dtype) {
        settings.dtype = dtype;
        return peak_parts(point_of(settings, bf16_topology(1, 1)));
    };
    const PeakParts in_bf16 = of(Precision::bf16), in_fp32 = of(Precision::fp32);
    // Two bytes for each of 16 values of a kernel; all else is fp32.
    EXPECT_DOUBLE_EQ(in_bf16.weights, 18 * (2.0 * 16 * 64 * 64 + 4 * 64) + 4.0 * (9 * 3 * 64 + 64 + 9 * 64 * 3 + 32));
    EXPECT_EQ(in_bf16.scratch_bytes, 4 * 16 * (28 * (32 + 16) + 28 * 32 + 64));
    const auto maps = [](const PeakParts& parts) {
        return parts.peak(1 << 20, 1) - parts.weights - static_cast<double>(parts.scratch_bytes);
    };
    EXPECT_DOUBLE_EQ(maps(in_bf16), maps(in_fp32));
}

TEST(Prediction, ContiguousMapsAreCopiedOnTheCpuOnly) {
    config::PointSettings settings;
    const auto peak = [&](DeviceKind device) { return parts_of(settings, device).peak(1 << 20, 1); };
    const double on_cpu = peak(DeviceKind::cpu), on_cuda = peak(DeviceKind::cuda);
    settings.layout = Layout::contiguous;
    EXPECT_DOUBLE_EQ(peak(DeviceKind::cpu), on_cpu + (1 << 20) * 512.0);
    EXPECT_EQ(peak(DeviceKind::cuda), on_cuda);
}

TEST(Prediction, FusedSumsHoldNoMapMore) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DrunetShape>();
    settings.dtype = Precision::bf16;
    const auto widest = [&](FusionKind fusion, DeviceKind device) {
        settings.fusion = fusion;
        return parts_of(settings, device).forward.front().bytes_per_pixel;
    };
    EXPECT_EQ(widest(FusionKind::on, DeviceKind::cuda), 384);
    EXPECT_EQ(widest(FusionKind::off, DeviceKind::cuda), 512);
    EXPECT_EQ(widest(FusionKind::automatic, DeviceKind::cuda), 384);
    EXPECT_EQ(widest(FusionKind::off, DeviceKind::cpu), 384);
    settings.layout = Layout::contiguous;
    EXPECT_EQ(widest(FusionKind::on, DeviceKind::cuda), 384) << "cuDNN does not reorder";
}

TEST(Prediction, ARankHasNoMoreBatchesInFlightThanWindowsFill) {
    config::PointSettings settings = small_point();  // of one rank
    settings.image.height = settings.image.width = 4 * settings.patch;
    Point point = point_of(settings, make_local_topology(1));
    point.device = DeviceKind::cuda;
    point.settings.slots = 3;
    const auto in_flight = [&point](int64_t batch, int num_ranks) {
        point.batch = batch;
        point.num_ranks = num_ranks;
        return batches_in_flight(point);
    };
    EXPECT_EQ(in_flight(16, 1), 1);
    EXPECT_EQ(in_flight(15, 1), 2);
    EXPECT_EQ(in_flight(1, 1), 3);
    EXPECT_EQ(in_flight(4, 4), 1);
    EXPECT_EQ(in_flight(1, 15), 2) << "the last rank has two windows";
    point.settings.schedule = config::Schedule::dynamic;
    EXPECT_EQ(in_flight(4, 4), 3) << "any rank may take all";
    point.batch.reset();
    EXPECT_EQ(batches_in_flight(point), 3) << "while the batch is open";
}

TEST(Fusion, AutomaticIsWhereItWasMeasuredToGain) {
    const auto fused = [](FusionKind fusion, auto change) {
        Point point;
        point.device = DeviceKind::cuda;
        point.settings.fusion = fusion;
        point.settings.dtype = Precision::fp16;
        change(point);
        return is_fused(point);
    };
    const auto nothing = [](Point&) {};
    const auto in_fp32 = [](Point& point) { point.settings.dtype = Precision::fp32; };
    const auto contiguous = [](Point& point) { point.settings.layout = Layout::contiguous; };
    EXPECT_TRUE(fused(FusionKind::automatic, nothing));
    EXPECT_FALSE(fused(FusionKind::automatic, [](Point& point) { point.settings.batch.largest = true; }));
    EXPECT_FALSE(fused(FusionKind::off, nothing));
    for (const auto& slower : {std::function<void(Point&)>(in_fp32), std::function<void(Point&)>(contiguous)}) {
        EXPECT_FALSE(fused(FusionKind::automatic, slower));
        EXPECT_TRUE(fused(FusionKind::on, slower));
    }
    for (const FusionKind fusion : {FusionKind::automatic, FusionKind::on}) {
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.device = DeviceKind::cpu; }));
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.band_rows = 64; })) << "carried rows";
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.settings.engine = EngineKind::pytorch; }));
        EXPECT_FALSE(fused(fusion, [](Point& point) { point.refusal = "no such device"; }));
    }
}

TEST(FastestLayout, IsContiguousWhereCudnnComputesInFp32) {
    const auto layout_where = [](auto change) {
        Point point;
        point.device = DeviceKind::cuda;
        change(point);
        return fastest_layout(point);
    };
    EXPECT_EQ(layout_where([](Point&) {}), Layout::contiguous);
    for (const auto& change : std::initializer_list<std::function<void(Point&)>>{
             [](Point& point) { point.device = DeviceKind::cpu; },
             [](Point& point) { point.settings.dtype = Precision::tf32; },
             [](Point& point) { point.settings.dtype = Precision::bf16; },
             [](Point& point) { point.settings.engine = EngineKind::pytorch; },
             [](Point& point) { point.settings.fusion = FusionKind::on; }, [](Point& point) { point.band_rows = 64; },
             [](Point& point) { point.settings.halo.kind = config::HaloSetting::Kind::exchanged; },
             [](Point& point) {
                 point.settings.network = network::kBroughtKind;
                 point.settings.network.file = "net.pt2";
             }})
        EXPECT_EQ(layout_where(change), Layout::channels_last);
}

TEST(FastestLayout, IsTakenByThePlanUnlessOneIsNamed) {
    config::PointSettings settings = small_point();
    const auto planned = [&] { return point_of(settings, cuda_topology(1)).settings.layout; };
    EXPECT_EQ(planned(), config::LayoutSetting(Layout::contiguous));
    settings.layout = Layout::channels_last;
    EXPECT_EQ(planned(), config::LayoutSetting(Layout::channels_last));
    EXPECT_EQ(point_of(small_point(), make_local_topology(1)).settings.layout,
              config::LayoutSetting(Layout::channels_last));
}

TEST(Prediction, OnCudaASumHoldsAMapMoreAndASlotItsSamples) {
    config::PointSettings settings;
    settings.image.noise_sigma = 0;
    settings.fusion = FusionKind::off;
    const SourceFacts photograph{{8, 8}, 3, DType::u8};
    for (const auto& [network, widest] : {std::pair{network::kind_of<network::DrunetShape>(), 1024},
                                          {network::kind_of<network::UnetShape>(), 1024},
                                          {network::kind_of<network::DncnnShape>(), 512}}) {
        settings.network = network;
        settings.dtype = Precision::fp32;
        EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.front().bytes_per_pixel, widest)
            << name_of(network);
        settings.dtype = Precision::bf16;
        EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.front().bytes_per_pixel, widest / 2);
    }
    settings.network = network::kind_of<network::DrunetShape>();
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).forward.back().bytes_per_pixel,
              (544 + 512 * 4 / 64) / 2);
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).in_out_per_pixel, 2 * 7 + 2 * 3) << "u8 samples";
    settings.image.noise_sigma = 0.1;
    EXPECT_EQ(parts_of(settings, DeviceKind::cuda, photograph).in_out_per_pixel, 2 * 7 + 2 * 3 * 4) << "noise is f32";
    EXPECT_EQ(parts_of(settings, DeviceKind::cpu, photograph).in_out_per_pixel, 2 * 7);
}

TEST(Topology, CountsNodesAndFindsSharedDevices) {
    Topology topology = cuda_topology(4);
    EXPECT_EQ(topology.num_nodes(), 1);
    EXPECT_THAT(shared_devices(topology), IsEmpty());
    topology.ranks[3].node = 1;
    topology.ranks[3].host = "other";
    topology.ranks[3].device_uuid = topology.ranks[0].device_uuid;  // same name, another host
    EXPECT_EQ(topology.num_nodes(), 2);
    EXPECT_THAT(shared_devices(topology), IsEmpty());
    topology.ranks[1].device_uuid = topology.ranks[2].device_uuid = "";
    topology.ranks[1].pci_bus_id = topology.ranks[2].pci_bus_id = "0000:01:00.0";
    EXPECT_EQ(shared_devices(topology), (std::vector<std::vector<int>>{{1, 2}}));
    EXPECT_THAT(shared_devices(make_local_topology(3)), IsEmpty());
}

Point of_network(network::NetworkKind network) {
    Point point;
    point.settings.network = network;
    return point;
}

TEST(IndexLimit, IsThatOfTheWidestLayer) {
    EXPECT_FALSE(exceeds_index_limit(of_network(network::kind_of<network::DncnnShape>()), {4096, 8191}));
    EXPECT_TRUE(exceeds_index_limit(of_network(network::kind_of<network::DncnnShape>()), {4096, 8192}));
    EXPECT_TRUE(exceeds_index_limit(of_network(network::kind_of<network::UnetShape>()), {4096, 4096}));
}

config::PointSettings carried_point() {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::native;
    settings.halo.kind = config::HaloSetting::Kind::carried;
    settings.patch = 32;
    return settings;
}

TEST(Carried, WindowsAreBandsOfTheWholeWidthWithoutContext) {
    const Point point = point_of(carried_point());
    EXPECT_EQ(point.halo, 20);  // of tiles with the same pixels
    EXPECT_EQ(point.batch, 1);
    const TileGrid grid = tile_grid(point);
    EXPECT_EQ(grid.num_windows(), 10);
    EXPECT_EQ(grid.num_patches(), 10);
    EXPECT_EQ(grid.core(9), (Rect{288, 0, {12, 200}}));
    EXPECT_EQ(label_of(point), "dncnn-native-p32-hcarried-b1-fp32");
    EXPECT_DOUBLE_EQ(processed_pixels(point), 300 * 200);
    EXPECT_EQ(predict(point)->pixels_per_forward, 32 * 200);
}

TEST(Carried, IsAnotherMeasurementThanAnExactHalo) {
    config::PointSettings exact = carried_point();
    exact.halo.kind = config::HaloSetting::Kind::exact;
    exact.batch.count = 1;
    EXPECT_NE(point_of(carried_point()).key, point_of(exact).key);
}

TEST(Carried, BordersOfRanksCostWhatANoteSays) {
    const Point point = point_of(carried_point(), make_local_topology(2));
    EXPECT_GT(processed_pixels(point), 300 * 200);
    ASSERT_EQ(point.notes.size(), 1U);
    EXPECT_THAT(point.notes.front(), HasSubstr("rows of the input are read again"));
    EXPECT_THAT(point_of(carried_point()).notes, IsEmpty());
}

TEST(Carried, MemoryDoesNotDependOnTheHeight) {
    for (const EngineKind engine : {EngineKind::native, EngineKind::torch}) {
        config::PointSettings settings = carried_point();
        settings.engine = engine;
        settings.image.height = 1000;
        const double peak_mib = predict(point_of(settings))->peak_mib;
        settings.image.height = 1000 + 1500 * settings.patch;
        EXPECT_DOUBLE_EQ(predict(point_of(settings))->peak_mib, peak_mib);
    }
}

TEST(Carried, TorchReadsLessOfItTwiceThanTilesDo) {
    config::PointSettings settings = carried_point();
    const auto input_rows = [&] { return band_pixels(point_of(settings, make_local_topology(2))).input_rows; };
    const int64_t of_native = input_rows();
    settings.engine = EngineKind::torch;
    EXPECT_EQ(input_rows(), 300 + 2 * 20) << "the receptive field of DnCNN, on both sides of the border";
    EXPECT_GT(of_native, 300 + 2 * 20);
}

TEST(Carried, OfDrunetMakeTheHeadTwiceInBothEngines) {
    config::PointSettings settings = carried_point();
    settings.network = network::kind_of<network::DrunetShape>();
    settings.image.height = 2000;
    for (const EngineKind engine : {EngineKind::native, EngineKind::torch}) {
        settings.engine = engine;
        const Point point = point_of(settings);
        const network::Graph computed = band_schedule(point, 0)->graph();
        EXPECT_EQ(computed.size(), point.graph().size() + 1) << name_of(engine);
        EXPECT_NEAR(processed_pixels(point) / (2000 * 200), 1, 0.002) << "and that is counted";
        EXPECT_GT(processed_pixels(point), 2000 * 200);
    }
}

TEST(Carried, OfTorchAreOnCudaInEveryPrecision) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    const auto peak_mib = [&](Precision dtype) {
        settings.dtype = dtype;
        const Point point = point_of(settings, cuda_topology(1));
        EXPECT_EQ(point.refusal, "");
        EXPECT_EQ(point.device, DeviceKind::cuda);
        EXPECT_TRUE(is_carried(point));
        return predict(point)->peak_mib;
    };
    EXPECT_NEAR(peak_mib(Precision::tf32), peak_mib(Precision::fp32), 1e-9);
    EXPECT_NEAR(peak_mib(Precision::fp16), peak_mib(Precision::bf16), 1e-9);
    const Point point = point_of(settings, cuda_topology(1));
    const auto schedule = band_schedule(point, 0);
    ASSERT_TRUE(schedule.has_value());
    EXPECT_EQ(schedule->shape().unit, network::ComputedUnit::pixel);
    const int64_t rows = schedule->most_input_rows() + schedule->shape().band;
    EXPECT_EQ(band_bytes(point).in_out, rows * 200 * 3 * (2 + 4)) << "16-bit values, f32 samples";
    settings.layout = Layout::contiguous;
    EXPECT_THAT(refusal_of(settings, cuda_topology(1)), HasSubstr("halo = carried"));
}

TEST(Carried, AreCopiedToFixedMemoryWhereStepsAreReplayed) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.fusion = FusionKind::on;
    const Point enqueued = point_of(settings, cuda_topology(1));
    EXPECT_THAT(enqueued.notes, Contains(HasSubstr("fusion has no effect")));
    settings.cuda_graph = true;
    const Point replayed = point_of(settings, cuda_topology(1));
    EXPECT_THAT(replayed.notes, Not(Contains(HasSubstr("cuda_graph"))));
    const auto schedule = band_schedule(replayed, 0);
    EXPECT_EQ(band_bytes(replayed).maps,
              network::peak_of_bands(*schedule, path_in_rows(replayed), network::RowMemory::fixed));
    EXPECT_GT(band_bytes(replayed).maps, band_bytes(enqueued).maps);
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    EXPECT_THAT(point_of(settings, cuda_topology(1)).notes, Contains("cuda_graph has no effect on exchanged rows"));
}

TEST(Exchanged, OfTorchAreOnCudaInEveryPrecision) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.halo.kind = config::HaloSetting::Kind::exchanged;
    const auto traffic_of = [&](Precision dtype) {
        settings.dtype = dtype;
        const Point point = point_of(settings, cuda_topology(2));
        EXPECT_TRUE(is_exchanged(point));
        EXPECT_GT(predict(point)->peak_mib, 0);
        return busiest_traffic(point).bytes;
    };
    EXPECT_EQ(traffic_of(Precision::fp32), 19 * 200 * 64 * 4);
    EXPECT_EQ(traffic_of(Precision::bf16), 19 * 200 * 64 * 2);
}

TEST(Carried, AreNotWeighedOnCuda) {
    config::PointSettings settings = carried_point();
    settings.engine = EngineKind::torch;
    settings.device = config::DeviceChoice::cuda;
    settings.halo = {config::HaloSetting::Kind::automatic, 0};
    EXPECT_FALSE(is_weighed(point_of(settings, cuda_topology(1))));
}

TEST(Carried, RefusesWhatCannotCarryRows) {
    const auto refused_with = [](auto change) {
        config::PointSettings settings = carried_point();
        change(settings);
        return refusal_of(settings);
    };
    const auto names_the_halo = HasSubstr("halo = carried");
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.layout = Layout::contiguous;
                }),
                names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.dtype = Precision::bf16;
                }),
                names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) {
                    s.engine = EngineKind::torch;
                    s.halo.kind = config::HaloSetting::Kind::exchanged;
                    s.dtype = Precision::bf16;
                }),
                HasSubstr("halo = exchanged: needs engine native on the CPU"));
    config::PointSettings on_gpu = carried_point();
    on_gpu.engine = EngineKind::torch;
    on_gpu.device = config::DeviceChoice::cuda;
    on_gpu.halo.kind = config::HaloSetting::Kind::exchanged;
    on_gpu.layout = Layout::contiguous;
    EXPECT_THAT(refusal_of(on_gpu, cuda_topology(1)), HasSubstr("halo = exchanged"));
    EXPECT_THAT(refused_with([](auto& s) { s.engine = EngineKind::reference; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.engine = EngineKind::timed; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.schedule = config::Schedule::dynamic; }), names_the_halo);
    EXPECT_THAT(refused_with([](auto& s) { s.dtype = Precision::bf16; }), HasSubstr("bf16"));
    const auto automatic = [](auto& s) { s.engine = config::EngineSetting::automatic(); };
    EXPECT_THAT(refused_with([&](auto& s) {
                    automatic(s);
                    s.dtype = Precision::bf16;
                }),
                names_the_halo);
    config::PointSettings settings = carried_point();
    automatic(settings);
    settings.memory_limit_mib = 13;  // hardly more than native takes at least
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::native);
}

}  // namespace
}  // namespace pb::plan
