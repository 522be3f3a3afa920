// Networks of the user as TorchScript, in this process. The scripts are compiled here and saved to a file.
#include "engine/memory.hpp"
#include "engine/network_file.hpp"
#include "support/denoise_batch.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/api/module.h>

#include <filesystem>
#include <fstream>

namespace pb::engine {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ScriptFile : public testing::Test {
  protected:
    /// The network whose `forward` is `code`.
    Weights network_of(const std::string& code, const network::NetworkCard& card = {.channels = 3}) {
        torch::jit::Module script("network");
        script.define(code);
        script.save(file_.string());
        return custom_network(file_, card);
    }

    std::string error_of(const Weights& weights) {
        try {
            const auto denoiser = make_denoiser(weights, {});
            (void)run(*denoiser, {}, {1, weights.card->channels, 8, 16});
        } catch (const OutOfMemory& error) {
            return std::string("OutOfMemory: ") + error.what();
        } catch (const Error& error) {
            return error.what();
        }
        return "none";
    }

    /// The output for `input_`, which is filled here.
    std::vector<float> run(Denoiser& denoiser, const EngineOptions& options, const Shape& shape, int64_t levels = 0) {
        const Shape in_shape{shape.n, shape.c + levels, shape.h, shape.w};
        input_ = test::random_values(static_cast<size_t>(in_shape.elements()), 3);
        std::vector<float> out(static_cast<size_t>(shape.elements()), -1.0F);
        device::Stream stream(options.device);
        const BatchView in_view = test::view_of(input_.data(), in_shape, options);
        const BatchView out_view = test::view_of(out.data(), shape, options);
        denoiser.prepare(in_view, out_view, stream);
        denoiser.forward(in_view, out_view, stream);
        return out;
    }

    const test::TemporaryFolder folder_;
    const fs::path file_ = folder_ / "script.pt";
    std::vector<float> input_;
};

TEST_F(ScriptFile, GivesWhatTheScriptGives) {
    const Weights weights = network_of("def forward(self, x):\n    return x * 0.5\n");
    for (const Layout layout : {Layout::channels_last, Layout::contiguous}) {
        const EngineOptions options{.layout = layout};
        const auto denoiser = make_denoiser(weights, options);
        for (const int64_t n : {2, 1}) {
            const auto out = run(*denoiser, options, {n, 3, 8, 16});
            for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 0.5F * input_[i]);
        }
    }
}

TEST_F(ScriptFile, IsEvaluatedThoughItWasSavedInTraining) {
    torch::jit::Module script("network");
    script.register_attribute("training", c10::BoolType::get(), true);
    script.define("def forward(self, x):\n    return torch.dropout(x, 0.5, self.training)\n");
    script.save(file_.string());
    const auto denoiser = make_denoiser(custom_network(file_, {.channels = 3}), {});
    EXPECT_EQ(run(*denoiser, {}, {1, 3, 8, 16}), input_);
}

TEST_F(ScriptFile, KnowsItsAxes) {
    const Weights weights = network_of("def forward(self, x):\n    return x + x[:, 1:2, :, :1]\n");
    const auto denoiser = make_denoiser(weights, {});
    const Shape shape{1, 3, 8, 16};
    const auto out = run(*denoiser, {}, shape);  // channels last
    for (size_t y = 0; y < 8; ++y)
        for (size_t x = 0; x < 16; ++x)
            for (size_t c = 0; c < 3; ++c) {
                const size_t i = (y * 16 + x) * 3 + c;
                ASSERT_EQ(out[i], input_[i] + input_[y * 16 * 3 + 1]);
            }
}

TEST_F(ScriptFile, TakesTheLevelOfEachWindowAsSecondInput) {
    const Weights weights = network_of("def forward(self, x, level):\n    return x + 10 * level.reshape(-1, 1, 1, 1)\n",
                                       {.channels = 1, .sigma = network::SigmaInput::input});
    const EngineOptions options{.layout = Layout::contiguous};
    const auto denoiser = make_denoiser(weights, options);
    const auto out = run(*denoiser, options, {2, 1, 8, 16}, 1);
    for (size_t n = 0; n < 2; ++n)
        for (size_t i = 0; i < 128; ++i) ASSERT_EQ(out[n * 128 + i], input_[n * 256 + i] + 10 * input_[n * 256 + 128]);
}

TEST_F(ScriptFile, SaysWhatTheScriptSays) {
    EXPECT_THAT(
        error_of(network_of("def forward(self, x):\n    assert x.size(0) > 2, 'no network today'\n    return x\n")),
        AllOf(HasSubstr("no network today"), HasSubstr(file_.string()), Not(HasSubstr("Traceback"))));
    EXPECT_THAT(error_of(network_of("def forward(self, x):\n    return x + x[:, :, 1:]\n")),
                AllOf(HasSubstr("(7)"), HasSubstr("(8)"), Not(HasSubstr("Exception raised"))));
    EXPECT_THAT(error_of(network_of("def forward(self, x):\n    return x[:, :, 1:]\n")),
                HasSubstr("[1, 3, 7, 16] instead of [1, 3, 8, 16]"));
    EXPECT_THAT(error_of(network_of("def forward(self, x):\n    return (x, x)\n")), HasSubstr("instead of a tensor"));
    EXPECT_THAT(error_of(network_of("def forward(self, x):\n    return torch.complex(x, x)\n")),
                HasSubstr("complex numbers"));
    EXPECT_THAT(error_of(network_of("def forward(self, x, level):\n    return x\n")), HasSubstr("level"));
}

TEST_F(ScriptFile, RefusesFilesThatAreNoScripts) {
    const Weights weights = network_of("def forward(self, x):\n    return x\n");
    fs::resize_file(file_, fs::file_size(file_) / 2);
    EXPECT_THAT(error_of(weights), AllOf(HasSubstr(file_.string()), HasSubstr("no TorchScript that LibTorch reads")));
    std::ofstream(file_) << "no script\n";
    EXPECT_THAT(error_of(weights), HasSubstr("no TorchScript that LibTorch reads"));
    fs::remove(file_);
    EXPECT_THAT(error_of(weights), HasSubstr("no TorchScript that LibTorch reads"));
}

TEST_F(ScriptFile, RunsOutOfMemoryAndGoesOn) {
    const Weights weights = network_of(
        "def forward(self, x):\n    if x.size(0) > 1:\n        x = x + torch.zeros([1 << 28]).sum()\n    return x\n");
    const auto denoiser = make_denoiser(weights, {});
    const MemoryCap cap({}, 64);
    EXPECT_THROW((void)run(*denoiser, {}, {2, 3, 8, 16}), OutOfMemory);
    EXPECT_EQ(run(*denoiser, {}, {1, 3, 8, 16}), input_);
}

TEST_F(ScriptFile, IsRefusedByEnginesThatDoNotRunIt) {
    const Weights weights = network_of("def forward(self, x):\n    return x\n");
    for (const EngineKind engine : {EngineKind::native, EngineKind::reference, EngineKind::onnxruntime})
        EXPECT_THAT(usage_error([&] { (void)make_denoiser(weights, {.engine = engine}); }),
                    AllOf(HasSubstr(file_.string()), HasSubstr("torch, pytorch or python:FILE")))
            << name_of(engine);
}

}  // namespace
}  // namespace pb::engine
