// The readers on files that torch itself wrote (tests/support/make_checkpoints.py), whole and damaged.
#include "support/checkpoint_files.hpp"
#include "support/damage.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace pb::engine {
namespace {

using testing::HasSubstr;

// The rule of make_checkpoints.py.
float ramp(size_t i) { return (static_cast<float>(i * 7 % 64) - 32) / 4; }

void expect_ramp(const NamedTensor& tensor, const std::vector<int64_t>& shape) {
    EXPECT_EQ(tensor.shape, shape);
    for (size_t i = 0; i < tensor.values.size(); ++i) ASSERT_EQ(tensor.values[i], ramp(i)) << "element " << i;
}

class TorchFiles : public testing::Test {
  protected:
    void SetUp() override {
        const char* folder = std::getenv("PATCHBENCH_CHECKPOINT_FIXTURES");
        if (folder == nullptr || !std::filesystem::exists(std::filesystem::path(folder) / "f32.zip.pth"))
            GTEST_SKIP() << "no checkpoints written by torch: run through ctest, with a Python that has torch";
        folder_ = folder;
    }
    std::filesystem::path folder_;
};

TEST_F(TorchFiles, GiveTheSameTensorsInEveryFormatAndElementType) {
    for (const char* type : {"f64", "f32", "f16", "bf16"})
        for (const char* format : {".zip.pth", ".legacy.pth", ".safetensors"}) {
            SCOPED_TRACE(std::string(type) + format);
            const StateDict tensors = load_state_dict(folder_ / (std::string(type) + format));
            ASSERT_EQ(tensors.size(), 3u);
            expect_ramp(tensors.at("first.weight"), {5, 3, 2, 2});
            expect_ramp(tensors.at("first.bias"), {5});
            EXPECT_EQ(tensors.at("norm.num_batches_tracked").values, std::vector<float>{1234});
            EXPECT_TRUE(tensors.at("norm.num_batches_tracked").shape.empty());
            for (const auto& [key, tensor] : tensors)
                EXPECT_EQ(tensor.is_integer, key == "norm.num_batches_tracked") << key;
        }
}

TEST_F(TorchFiles, HaveMetadataInSafetensorsOnly) {
    EXPECT_EQ(load_checkpoint(folder_ / "f32.safetensors").metadata.at("sigma_train"), "0.25");
    EXPECT_TRUE(load_checkpoint(folder_ / "f32.zip.pth").metadata.empty());
}

TEST_F(TorchFiles, ResolveViewsOfSharedStorages) {
    for (const char* file : {"views.zip.pth", "views.legacy.pth"}) {
        SCOPED_TRACE(file);
        const StateDict tensors = load_state_dict(folder_ / file);
        expect_ramp(tensors.at("base"), {6, 8});
        expect_ramp(tensors.at("parameter"), {3, 3});
        expect_ramp(tensors.at("channels_last"), {2, 3, 4, 5});
        EXPECT_EQ(tensors.at("empty").shape, (std::vector<int64_t>{0, 4}));
        EXPECT_EQ(tensors.at("steps").shape, (std::vector<int64_t>{3, 3}));
        for (size_t i = 0; i < 8; ++i) EXPECT_EQ(tensors.at("row").values[i], ramp(16 + i));
        for (size_t i = 0; i < 8; ++i)
            for (size_t j = 0; j < 6; ++j) EXPECT_EQ(tensors.at("transposed").values[i * 6 + j], ramp(j * 8 + i));
        for (size_t i = 0; i < 3; ++i)
            for (size_t j = 0; j < 3; ++j) EXPECT_EQ(tensors.at("steps").values[i * 3 + j], ramp(16 * i + 1 + 3 * j));
    }
}

TEST_F(TorchFiles, AreUnwrappedFromWhatTrainingScriptsSave) {
    for (const char* file : {"lightning.zip.pth", "lightning.legacy.pth", "basicsr.zip.pth", "basicsr.legacy.pth"}) {
        SCOPED_TRACE(file);
        expect_ramp(load_state_dict(folder_ / file).at("first.weight"), {5, 3, 2, 2});
    }
    EXPECT_EQ(load_state_dict(folder_ / "module_state.zip.pth").size(), 2u);
}

TEST_F(TorchFiles, OfUsualTrainersGiveTheNetworkOrItsAverage) {
    const auto digest = [&](const std::string& name) {
        return sha256_of_values(load_weights(folder_ / name, network::kind_of<network::DncnnShape>()));
    };
    const std::string net = digest("net.zip.pth"), average = digest("average.zip.pth");
    EXPECT_NE(net, average);
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with("net-") && !name.starts_with("average-")) continue;
        EXPECT_EQ(digest(name), name.starts_with("net-") ? net : average) << name;
        ++files;
    }
    EXPECT_EQ(files, 32);
}

TEST_F(TorchFiles, SayWhatOfThemIsNotRead) {
    const auto note = [&](const std::string& name) {
        return load_weights(folder_ / (name + ".zip.pth"), network::kind_of<network::DncnnShape>()).note;
    };
    EXPECT_EQ(note("net-tutorial"), "");
    EXPECT_EQ(note("net-compiled"), "");
    EXPECT_EQ(note("average-swa"), "");
    EXPECT_EQ(note("net-lightning"), "not read beside the network: 'loss.vgg.weight', 'loss.window'");
    EXPECT_EQ(note("average-basicsr"), "'params_ema' is read, not 'params'");
    EXPECT_EQ(note("average-timm"), "'state_dict_ema' is read, not 'state_dict'");
    EXPECT_EQ(note("average-nested"), "'ema' is read, not 'model'");
    EXPECT_EQ(note("average-module"), "'ema' is read, not 'model'");
    EXPECT_EQ(note("average-of-epochs"), "'swa_state_dict' is read, not 'state_dict'");
    EXPECT_EQ(note("net-shadow"), "'model' is read, not 'ema'");
    EXPECT_EQ(note("net-metrics"), "") << "there are no weights in the others";
    EXPECT_EQ(note("average-beside"),
              "'params_ema' is read, not 'params'; not read beside the network: 'loss.vgg.weight', 'loss.window'");
    EXPECT_EQ(note("average-lightning"),
              "the network under 'ema_model.' is read, not that under 'model.'; not read beside the network: "
              "'loss.vgg.weight', 'loss.window'");
}

TEST_F(TorchFiles, OfAWholeModelSayHowToSaveItsWeights) {
    for (const char* file : {"whole.zip.pth", "whole.legacy.pth"})
        EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / file); }),
                    testing::AllOf(HasSubstr("whole object"), HasSubstr("'torch.nn.modules.conv.Conv2d'"),
                                   HasSubstr("torch.save(model.state_dict(), file)")));
    EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / "script.zip.pth"); }),
                testing::AllOf(HasSubstr("whole object"), HasSubstr("torch.save(model.state_dict(), file)")));
    EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / "whole_nested.zip.pth"); }),
                testing::AllOf(HasSubstr("the pickle names 'torch.nn.modules.conv.Conv2d'"),
                               HasSubstr("torch.save(model.state_dict(), file)")));
}

TEST_F(TorchFiles, ThatNameAnotherGlobalAreRefusedAndExecuteNothing) {
    for (const char* file : {"malicious.zip.pth", "malicious.legacy.pth"})
        EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / file); }),
                    testing::AllOf(HasSubstr(file), HasSubstr("'posix.system'"), HasSubstr("byte ")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "executed"));
}

TEST_F(TorchFiles, OfABigEndianMachineAreRefused) {
    for (const char* file : {"big_endian.zip.pth", "big_endian.legacy.pth"})
        EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / file); }), HasSubstr("on a little-endian"))
            << file;
}

TEST_F(TorchFiles, ThatAreCompressedOrHoldARecordTwiceAreRefused) {
    EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / "compressed.zip.pth"); }),
                testing::AllOf(HasSubstr("compressed.zip.pth, entry "), HasSubstr(": compressed;")));
    EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / "twice.zip.pth"); }),
                testing::AllOf(HasSubstr("twice.zip.pth, entry "), HasSubstr("is there twice")));
}

TEST_F(TorchFiles, CannotGrowInMemory) {
    for (const char* file : {"expanded.zip.pth", "expanded.legacy.pth"})
        EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / file); }),
                    testing::AllOf(HasSubstr("'weight'"), HasSubstr("more elements than its storage")));
    EXPECT_THAT(usage_error([&] { (void)load_state_dict(folder_ / "shared_records.zip.pth"); }),
                testing::AllOf(HasSubstr("shared_records.zip.pth, tensor 'tensor"), HasSubstr("4000 bytes")));
}

// Loads, or throws pb::Error; anything else ends the test program.
void load_damaged(const std::filesystem::path& file, const std::string& bytes) {
    test::write_bytes(file, bytes);
    (void)error_of<Error>([&] { (void)load_checkpoint(file); });
}

TEST_F(TorchFiles, NeverCrashTheReadersWhenTheyAreCutOrDamaged) {
    const test::TemporaryFolder folder;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        if (!entry.is_regular_file()) continue;
        const std::string whole = test::read_bytes(entry.path());
        const auto load = [&](const std::string& bytes) { load_damaged(folder / "damaged", bytes); };
        test::for_each_truncation(whole, 150, load);
        test::for_each_damage(whole, 150, load);
    }
}

TEST_F(TorchFiles, WithOneOtherByteInATensorFailTheChecksumOfTheArchive) {
    const float values[] = {ramp(0), ramp(1), ramp(2)};
    std::string bytes = test::read_bytes(folder_ / "f32.zip.pth");
    const size_t place = bytes.find(std::string_view(reinterpret_cast<const char*>(values), sizeof(values)));
    ASSERT_NE(place, std::string::npos);
    bytes[place] ^= 1;
    const test::TemporaryFolder folder;
    const auto damaged = folder / "checkpoint";
    test::write_bytes(damaged, bytes);
    EXPECT_THAT(usage_error([&] { (void)load_checkpoint(damaged); }), HasSubstr("damaged"));
}

TEST_F(TorchFiles, ThatAreCutAreNeverTakenForWhole) {
    const test::TemporaryFolder folder;
    const auto cut = folder / "checkpoint";
    for (const char* file : {"f32.zip.pth", "f32.legacy.pth", "f32.safetensors"})
        test::for_each_truncation(test::read_bytes(folder_ / file), 100, [&](const std::string& bytes) {
            test::write_bytes(cut, bytes);
            EXPECT_THROW((void)load_checkpoint(cut), UsageError) << file << " cut to " << bytes.size();
        });
}

}  // namespace
}  // namespace pb::engine
