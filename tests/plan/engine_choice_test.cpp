// What `engine: auto` takes, the tiles of native, and networks that come as files.
#include "plan/context.hpp"
#include "plan/plan.hpp"
#include "plan/prediction.hpp"
#include "plan/rows.hpp"
#include "small_points.hpp"

#include <gmock/gmock.h>

namespace pb::plan {
namespace {

using test::bf16_topology;
using test::cuda_topology;
using test::point_of;
using test::refusal_of;
using test::small_point;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

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

TEST(Plan, TilesOfNativeFollowWindowsWithTheirHaloWhileTheBatchIsOpen) {
    config::PointSettings settings = small_point();
    settings.batch.count = 0;
    const Point usual = native_point(0, settings);
    const double needed = peak_parts(usual).peak(tile_grid(usual).window().pixels(), 1) / kMiB;
    EXPECT_EQ(native_point(static_cast<int64_t>(needed), settings).winograd_tile, 2);
    EXPECT_FALSE(native_point(static_cast<int64_t>(needed) + 1, settings).winograd_tile.has_value());
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
        settings.network = network::kCustomKind;
        settings.network.file = file;
        settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
        const Point point = point_of(settings, cuda_topology(1));
        EXPECT_EQ(point.settings.engine, engine);
        EXPECT_THAT(point.notes, Not(Contains(HasSubstr("has no effect"))));
        const bool takes_gpu = engine == EngineKind::torch;
        EXPECT_EQ(point.device, takes_gpu ? DeviceKind::cuda : DeviceKind::cpu) << "other processes compute on the CPU";
    }
}

TEST(Plan, AnExactHaloNeedsABoundedNetwork) {
    config::PointSettings settings = small_point();
    settings.network = network::kCustomKind;
    settings.network.file = "own.pt";
    settings.network.card = network::NetworkCard{};
    for (const auto& halo :
         {config::HaloSetting{config::HaloSetting::Kind::exact, 0}, {config::HaloSetting::Kind::pixels, 8}}) {
        settings.halo = halo;
        const bool is_exact = halo.kind == config::HaloSetting::Kind::exact;
        EXPECT_EQ(refusal_of(settings).find("the receptive field of own.pt is unbounded") != std::string::npos,
                  is_exact);
    }
}

TEST(Plan, FilesOfOtherEnginesAreRefused) {
    config::PointSettings settings = small_point();
    settings.network = network::kCustomKind;
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

TEST(Plan, AnAutomaticEngineHasAWayWithoutSeamsWhereThereIsOne) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.halo = {config::HaloSetting::Kind::automatic, 0};
    settings.patch = 64;
    settings.image.height = 300;
    settings.image.width = 150;
    for (const auto& [limit_mib, engine] :
         {std::pair{7, EngineKind::torch}, {9, EngineKind::torch}, {14, EngineKind::native}}) {
        settings.memory_limit_mib = limit_mib;
        EXPECT_EQ(point_of(settings).settings.engine, engine)
            << limit_mib << " MiB: native fits 9, in tiles with little context";
    }
    settings.batch = {1, false};
    settings.schedule = config::Schedule::dynamic;  // carries no rows
    settings.memory_limit_mib = 9;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::torch) << "native fits with seams only";
    settings.schedule = config::Schedule::contiguous;
    settings.halo = {config::HaloSetting::Kind::pixels, 1};
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::native);
}

TEST(Plan, FilesInBf16) {
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.network = network::kCustomKind;
    settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
    settings.network.file = "own.onnx";
    settings.dtype = Precision::bf16;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::openvino) << "ONNX Runtime has no bf16";
    settings.network.file = "own.py";
    EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("dtype = bf16: own.py is code"), HasSubstr("dtype: fp32")));
    settings.dtype = Precision::fp32;
    EXPECT_EQ(point_of(settings).settings.engine, EngineKind::pytorch);
}

TEST(Plan, ACustomNetworkOfOurOperationsIsPlannedAsOneOfTheList) {
    const network::DncnnShape shape{.depth = 4, .width = 32};
    config::PointSettings settings = small_point();
    settings.engine = config::EngineSetting::automatic();
    settings.network = network::kCustomKind;
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

/// It pads by itself, and takes two windows in a call at most.
TEST(Plan, ACustomNetworkGetsTheExtentsAndTheBatchOfItsCard) {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::onnxruntime;
    settings.network = network::kCustomKind;
    settings.network.file = "own.onnx";
    settings.network.card = network::NetworkCard{
        .channels = small_point().image.channels, .alignment = 8, .radius = 8, .halo = 8, .step = 1, .batch = 2};
    settings.image.height = 67;
    settings.image.width = 93;
    settings.patch = 16;
    settings.batch = {4};
    Point point = point_of(settings);
    EXPECT_EQ(tile_grid(point).padded(), (Extent{67, 93}));
    EXPECT_EQ(tile_grid(point).window(), (Extent{16 + 2 * 8 + 3, 16 + 2 * 8 + 5}));
    EXPECT_EQ(point.batch, 2);
    EXPECT_THAT(point.notes, Contains(HasSubstr("batch 2 instead of 4: own.onnx takes no more windows")));
    EXPECT_THAT(point_of(settings, make_local_topology(50)).notes,
                Contains(HasSubstr("batch 1 instead of 4: no rank has more windows")));
    EXPECT_EQ(point.edge_note, "");
    settings.network.card->step.reset();
    settings.network.card->batch.reset();
    point = point_of(settings);
    EXPECT_EQ(tile_grid(point).padded(), (Extent{72, 96}));
    EXPECT_EQ(point.batch, 4);
    EXPECT_THAT(point.edge_note, HasSubstr("extended to 72 x 96 px"));
    EXPECT_THAT(point.notes, Contains(point.edge_note));
    settings.network = network::kind_of<network::DrunetShape>();
    EXPECT_EQ(point_of(settings).edge_note, "") << "its layers are known: pixels are those of the image";
}

TEST(Plan, ACustomNetworkTakesImagesOfItsChannelsOnly) {
    config::PointSettings settings = small_point();
    settings.engine = EngineKind::onnxruntime;
    settings.network = network::kCustomKind;
    settings.network.file = "own.onnx";
    for (const int64_t channels : {1, 3}) {
        settings.network.card = network::NetworkCard{.channels = channels, .radius = 6, .halo = 6};
        settings.image.channels = channels;
        EXPECT_EQ(point_of(settings).source.channels, channels);
        settings.image.channels = 4 - channels;
        EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.onnx"), HasSubstr("the image has ")));
    }
}

TEST(Plan, TheNodeThatKeepsLayersFromBeingKnownIsNamed) {
    config::PointSettings settings = small_point();
    settings.network = network::kCustomKind;
    settings.network.file = "own.onnx";
    settings.network.card = network::NetworkCard{.radius = 6, .halo = 6};
    settings.network.obstacle = "node '/body/Gelu' ('Gelu'): an operator that is not known here";
    for (const EngineKind engine : {EngineKind::torch, EngineKind::native}) {
        settings.engine = engine;
        EXPECT_THAT(refusal_of(settings), AllOf(HasSubstr("own.onnx"), HasSubstr("(" + settings.network.obstacle + ")"),
                                                HasSubstr("onnxruntime, openvino")));
    }
}

}  // namespace
}  // namespace pb::plan
