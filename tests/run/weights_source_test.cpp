#include "run/weights_source.hpp"

#include "base/atomic_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "support/environment_variable.hpp"
#include "support/messages.hpp"
#include "support/state_dict.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>

namespace pb::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WeightsCache, ReadsAFileThatWasReplaced) {
    const test::TemporaryFolder folder;
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = folder / "w.safetensors";
    const auto save = [&](uint64_t seed) {
        const auto weights = engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, seed);
        test::save_weights(weights, folder / "new");
        std::filesystem::rename(folder / "new", settings.weights);
    };
    WeightsCache cache;
    save(1);
    const auto first = cache.find(settings, 3);
    EXPECT_EQ(cache.find(settings, 3), first) << "read once";
    EXPECT_TRUE(cache.is_current(*first, settings, 3));
    save(2);
    EXPECT_FALSE(cache.is_current(*first, settings, 3));
    const auto second = cache.find(settings, 3);
    EXPECT_NE(second->sha256, first->sha256);
    EXPECT_TRUE(cache.is_current(*second, settings, 3));
    EXPECT_FALSE(cache.is_current(*first, settings, 3)) << "an image that waits has the network of before";
    EXPECT_NE(cache.digest(), cache.digest_of(*first));
}

TEST(WeightsCache, AModelThatWasDamagedSinceIsNotCurrent) {
    const test::TemporaryFolder folder;
    config::PointSettings settings;
    settings.network.file = folder / "m.onnx";
    settings.network.card = network::NetworkCard{.radius = 1, .halo = 1};
    const std::string model =
        engine::to_onnx(engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, 1));
    write_whole(settings.network.file, model);
    WeightsCache cache;
    const auto found = cache.find(settings, 3);
    EXPECT_TRUE(cache.is_current(*found, settings, 3));
    write_whole(settings.network.file, model.substr(0, model.size() / 2));
    EXPECT_FALSE(cache.is_current(*found, settings, 3));
    for (int i = 0; i < 2; ++i) EXPECT_THROW((void)cache.find(settings, 3), UsageError);
}

TEST(WeightsCache, GivesEachKindOfImageItsOwn) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = "seed:1";
    WeightsCache cache;
    cache.keep(2);
    for (const int64_t channels : {1, 3, 1, 1, 3}) {
        const auto found = cache.find(settings, channels);
        EXPECT_EQ(found->channels(), channels);
        EXPECT_EQ(cache.digest(), cache.digest_of(*found));
    }
}

TEST(WeightsCache, ForgetsWhatWasUsedLongestAgo) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    WeightsCache cache;
    cache.keep(2);
    const auto find = [&](const char* weights) {
        settings.weights = weights;
        return std::weak_ptr(cache.find(settings, 3));
    };
    const auto first = find("seed:1"), second = find("seed:2");
    (void)find("seed:1");
    (void)find("seed:3");
    EXPECT_FALSE(first.expired());
    EXPECT_TRUE(second.expired());
}

TEST(FindWeights, TheCardSpeaksOfItsOwnFilesOnly) {
    const test::TemporaryFolder folder;
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = folder / "own.safetensors";
    const auto weights = engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, 1);
    test::save_weights(weights, settings.weights);
    EXPECT_FALSE(find_weights(settings, 3).trained_sigma) << "the card lists weights for 0.1";
}

/// As of the official files, whose digests the cards do not know.
TEST(FindWeights, TheCardKnowsAFileWithoutADigestByItsPlace) {
    const test::TemporaryFolder folder;
    const test::EnvironmentVariable models("PATCHBENCH_MODELS", folder.path().string());
    write_whole(folder / "dncnn.yaml",
                "weights:\n- {name: a, file: a.safetensors, sigma_train: 0.3}\n- {name: b, file: b.safetensors, "
                "sigma_most: 0.4}\n"
                "- {name: c, file: c.safetensors, sigma_train: 0.5, sha256: ab}\n");
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    const auto find = [&](const std::filesystem::path& file) {
        std::filesystem::create_directories(file.parent_path());
        test::save_weights(engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, 1), file);
        settings.weights = file.string();
        return find_weights(settings, 3);
    };
    EXPECT_FALSE(find_default_weights(settings.network.kind, 3)) << "none was fetched";
    EXPECT_EQ(find(folder / "a.safetensors").trained_sigma, 0.3);
    EXPECT_FALSE(find(folder / "a.safetensors").most_sigma);
    EXPECT_EQ(find(folder / "b.safetensors").most_sigma, 0.4);
    EXPECT_FALSE(find(folder / "b.safetensors").trained_sigma);
    EXPECT_FALSE(find(folder / "c.safetensors").trained_sigma) << "another digest than that of the card";
    EXPECT_FALSE(find(folder / "elsewhere/a.safetensors").trained_sigma);
}

TEST(FindWeights, TheCardSaysWhatNamesLeaveOpen) {
    const test::TemporaryFolder folder;
    const test::EnvironmentVariable models("PATCHBENCH_MODELS", folder.path().string());
    write_whole(folder / "dncnn.yaml", "weights:\n- {name: a, file: a.safetensors, sigma_train: 0.3}\n");
    engine::StateDict tensors;
    for (auto& [key, tensor] :
         test::to_state_dict(engine::make_seeded_weights(network::DncnnShape{.depth = 3, .width = 8}, 1)))
        for (const auto& [ours, theirs] :
             {std::pair("in_conv.", "model.0."), {"conv_list.0.", "model.2."}, {"out_conv.", "model.4."}})
            if (key.starts_with(ours)) tensors[theirs + key.substr(std::string(ours).size())] = tensor;
    const auto guess_of = [&](const std::filesystem::path& file) {
        engine::save_safetensors(tensors, file, {});
        config::PointSettings settings;
        settings.network = network::kind_of<network::DncnnShape>();
        settings.weights = file.string();
        return find_weights(settings, 3).guess;
    };
    EXPECT_THAT(guess_of(folder / "b.safetensors"), testing::HasSubstr("which names do not say"));
    EXPECT_EQ(guess_of(folder / "a.safetensors"), "");
}

/// UNet has none, DnCNN has some, which may have been fetched.
TEST(FindWeights, NobodyIsSentToWeightsThatAreNotPublished) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::UnetShape>();
    settings.weights = config::kDefaultWeights;
    EXPECT_THAT(usage_error([&] { (void)find_weights(settings, 3); }),
                testing::HasSubstr("none are published; name a file"));
}

TEST(WeightsFiles, AreThoseThatASettingNames) {
    config::PointSettings settings;
    settings.network = network::kind_of<network::DncnnShape>();
    settings.weights = "seed:1";
    EXPECT_THAT(weights_files(settings), IsEmpty());
    settings.weights = "a.pth";
    EXPECT_THAT(weights_files(settings), ElementsAre("a.pth"));
    settings.weights = "default";
    EXPECT_THAT(weights_files(settings), testing::Contains(testing::Property(&std::filesystem::path::filename,
                                                                             "dncnn_color_sigma0.1.safetensors")));
}

}  // namespace
}  // namespace pb::run
