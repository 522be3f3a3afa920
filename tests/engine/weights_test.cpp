#include "patchbench/engine/weights.hpp"

#include "base/sha256.hpp"
#include "support/messages.hpp"
#include "support/networks.hpp"
#include "support/relatives.hpp"
#include "support/state_dict.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/network/network_facts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace pb::engine {
namespace {

using testing::AllOf;
using testing::HasSubstr;

void expect_same_values(const Weights& a, const Weights& b) {
    EXPECT_EQ(sha256_of_values(a), sha256_of_values(b));
    ASSERT_EQ(a.convolutions.size(), b.convolutions.size());
    for (const auto& [name, convolution] : a.convolutions) {
        EXPECT_EQ(convolution.stride, b.convolutions.at(name).stride) << name;
        EXPECT_EQ(convolution.transposed, b.convolutions.at(name).transposed) << name;
    }
}

// A rule for values that shows any mix-up of tensors or channels.
float value_at(size_t tensor, size_t i) { return 0.01f * static_cast<float>((tensor * 31 + i * 7) % 201) - 1.0f; }

/// Batch-norm parts under `key`, all far from their fresh values, variances positive.
void add_norm(StateDict& tensors, const std::string& key, size_t tensor, int64_t channels) {
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
        NamedTensor& values = tensors[key + part];
        values = {.shape = {channels}, .values = {}};
        for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
            values.values.push_back(value_at(++tensor, c) + (part == std::string(".running_var") ? 1.5f : 0.0f));
    }
}

const network::DncnnShape& dncnn_of(const Weights& weights) { return std::get<network::DncnnShape>(weights.shape); }

/// The convolutions of `weights` under other keys, in the order of a DnCNN: `key_of(i)`.
template <class KeyOf>
StateDict renamed(const Weights& weights, const KeyOf& key_of, bool bias) {
    StateDict tensors;
    const int64_t depth = dncnn_of(weights).depth;
    for (int64_t i = 0; i < depth; ++i) {
        const std::string name = i == 0           ? "in_conv"
                                 : i + 1 == depth ? "out_conv"
                                                  : "conv_list." + std::to_string(i - 1);
        const Convolution& c = weights.convolutions.at(name);
        tensors[key_of(i) + ".weight"] = {{c.out_channels, c.in_channels, 3, 3}, c.weight};
        if (bias) tensors[key_of(i) + ".bias"] = {{c.out_channels}, c.bias};
    }
    return tensors;
}

std::string numbered(const std::string& prefix, int64_t index) { return prefix + std::to_string(index); }

/// Values held: batch norm is folded, so a UNet has 6,528 fewer than as it was trained.
int64_t parameters_of(const Weights& weights) {
    size_t values = 0;
    for (const auto& [name, convolution] : weights.convolutions)
        values += convolution.weight.size() + convolution.bias.size();
    return static_cast<int64_t>(values);
}

TEST(SeededWeights, HaveTheParametersOfTheNetwork) {
    constexpr int64_t kFoldedAway = 6528;  // scale and shift of UNet's 3264 normalised channels
    for (const network::NetworkKind kind : test::all_networks()) {
        const int64_t folded = kind == network::kind_of<network::UnetShape>() ? kFoldedAway : 0;
        for (const int64_t channels : {1, 3})
            EXPECT_EQ(parameters_of(make_seeded_weights(kind, channels, 5)) + folded,
                      network::network_facts(kind, channels).parameters);
    }
}

// One of each network.
TEST(SeededWeights, AreTheSameBitsOnEveryMachine) {
    EXPECT_EQ(make_seeded_weights(network::kind_of<network::DrunetShape>(), 3, 1).sha256,
              "09337d4cc58af9c47f0db0e4476af26d1ecc2274ccfed512559aecaea7cfdc0f");
    EXPECT_EQ(make_seeded_weights(network::kind_of<network::UnetShape>(), 3, 1).sha256,
              "ca3addef72a3626f2f6486e794c039b45045ab9958388d8d4b790342f9a2dc60");
    EXPECT_EQ(make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1).sha256,
              "b9b831fc2afd49c7a3d3849c01794bde1e26034107f2c2262608b95c095fb81a");
}

TEST(SeededWeights, HaveADigestOfEachValueAtItsPlace) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 4, .width = 4}, 1);
    Weights other = weights;
    other.convolutions.at("in_conv").bias.back() += 1;
    EXPECT_NE(sha256_of_values(other), weights.sha256);
    other = weights;
    std::swap(other.convolutions.at("conv_list.0"), other.convolutions.at("conv_list.1"));
    EXPECT_NE(sha256_of_values(other), weights.sha256);
}

TEST(SeededWeights, DependOnEveryBitOfTheSeed) {
    const auto digest = [](uint64_t seed) {
        return make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, seed).sha256;
    };
    EXPECT_NE(digest(1), digest(2));
    EXPECT_NE(digest(1), digest(1 + (uint64_t{1} << 32)));
    EXPECT_EQ(digest(7), digest(7));
    EXPECT_THROW((void)make_seeded_weights(network::kind_of<network::DncnnShape>(), 2, 1), UsageError);
}

TEST(SeededWeights, OfDrunetHaveTheDeviationsThatKeepTheirScale) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DrunetShape>(), 3, 3);
    const auto gain = [&](const char* name, double fan_in) {
        double squares = 0;
        const auto& values = weights.convolutions.at(name).weight;
        for (const float value : values) squares += double{value} * value;
        return std::sqrt(squares / static_cast<double>(values.size()) * fan_in);
    };
    EXPECT_NEAR(gain("m_body.0.res.0", 512 * 9), std::sqrt(2.0), 0.01);
    EXPECT_NEAR(gain("m_body.0.res.2", 512 * 9), 0.5, 0.01);
    EXPECT_NEAR(gain("m_down3.4", 256 * 4), 1, 0.01);
    EXPECT_NEAR(gain("m_up3.0", 512), 1, 0.01);
}

TEST(Recognise, GivesBackWhatToStateDictWroteOfPublishedNetworks) {
    for (const network::NetworkKind kind : test::all_networks())
        for (const int64_t channels : {1, 3}) {
            const Weights weights = make_seeded_weights(kind, channels, 11);
            const Weights read = recognise_weights(test::to_state_dict(weights), "test");
            EXPECT_EQ(read.kind(), kind);
            EXPECT_EQ(read.channels(), channels);
            EXPECT_EQ(network::graph_of(read.shape), network::graph_of(weights.shape));
            EXPECT_TRUE(read.trained);
            expect_same_values(read, weights);
        }
}

TEST(Recognise, KnowsDncnnOfKairWithMergedNorm) {
    const Weights weights = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, 2);
    const auto key_of = [](int64_t i) { return numbered("module.model.", 2 * i); };
    const Weights read = recognise_weights(renamed(weights, key_of, true), "test");
    EXPECT_EQ(dncnn_of(read).residual, network::DncnnResidual::subtract);
    EXPECT_EQ(dncnn_of(read).depth, 20);
    EXPECT_EQ(read.layout, "dncnn (KAIR, batch norm merged)");
    expect_same_values(read, weights);
}

TEST(Recognise, SaysThatIrcnnHasTheNamesOfADncnnOfSevenLayers) {
    const auto note_of = [](int64_t depth) {
        const Weights weights = make_seeded_weights(network::DncnnShape{.depth = depth, .width = 8}, 2);
        const auto key_of = [](int64_t i) { return numbered("model.", 2 * i); };
        return recognise_weights(renamed(weights, key_of, true), "test").guess;
    };
    EXPECT_THAT(note_of(7), testing::HasSubstr("IRCNN"));
    for (const int64_t depth : {6, 8})
        EXPECT_THAT(note_of(depth),
                    testing::AllOf(HasSubstr("taken from the input"), testing::Not(HasSubstr("IRCNN"))));
}

// One of each network.
TEST(Recognise, TakesWidthsBlocksAndScalesFromTheFile) {
    const std::vector<network::NetworkShape> relatives{
        network::DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 2},
        network::DrunetShape{.widths = {4, 6, 8, 10, 12}, .blocks = 1},
        network::DrunetShape{.widths = {8}, .blocks = 5},
        network::UnetShape{.channels = 1, .widths = {8, 20}},
        network::UnetShape{.widths = {4, 8, 12, 16, 20}},
        network::DncnnShape{.depth = 4, .width = 24},
        network::DncnnShape{.channels = 1, .depth = 30, .width = 4}};
    for (const network::NetworkShape& shape : relatives) {
        const Weights weights = make_seeded_weights(shape, 11);
        const Weights read = recognise_weights(test::to_state_dict(weights), "test");
        EXPECT_EQ(read.shape, shape) << network::to_text(shape);
        expect_same_values(read, weights);
    }
}

TEST(Recognise, NamesTheDifferencesToTheNearestShape) {
    StateDict tensors =
        test::to_state_dict(make_seeded_weights(network::DrunetShape{.widths = {8, 16}, .blocks = 2}, 1));
    tensors.erase("m_up1.2.res.0.weight");
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "small.pth"); }),
                AllOf(HasSubstr("looks like drunet"), HasSubstr("1 missing: 'm_up1.2.res.0.weight'")));
}

// Whatever is missing, the widths come from the rest, so that nothing else differs.
// One of each network.
TEST(Recognise, NamesTheOneTensorThatIsMissing) {
    const std::vector<network::NetworkShape> relatives{network::DrunetShape{.widths = {8, 16, 24}, .blocks = 2},
                                                       network::UnetShape{.widths = {8, 20, 24}},
                                                       network::DncnnShape{.depth = 5, .width = 24}};
    for (const network::NetworkShape& shape : relatives) {
        const StateDict whole = test::to_state_dict(make_seeded_weights(shape, 1));
        for (const auto& [key, tensor] : whole) {
            if (key.ends_with("num_batches_tracked")) continue;  // of no effect
            StateDict tensors = whole;
            tensors.erase(key);
            EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "small.pth"); }),
                        AllOf(HasSubstr("1 missing: '" + key + "'"), testing::Not(HasSubstr("surplus")),
                              testing::Not(HasSubstr("shape"))));
        }
    }
}

/// As of a file that was quantised, whose scales are somewhere else.
TEST(Recognise, RefusesIntegersAsWeights) {
    StateDict tensors = test::to_state_dict(make_seeded_weights(network::UnetShape{.widths = {8, 20, 24}}, 1));
    for (auto& [key, tensor] : tensors) tensor.is_integer = key.ends_with("num_batches_tracked");
    EXPECT_NO_THROW((void)recognise_weights(tensors, "small.pth"));
    auto& [key, tensor] = *tensors.begin();
    tensor.is_integer = true;
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "small.pth"); }),
                AllOf(HasSubstr("'" + key + "'"), HasSubstr("integers"), HasSubstr("export floats")));
}

TEST(Recognise, TakesTheDepthFromTheKeys) {
    Weights shorter = make_seeded_weights(network::kind_of<network::DncnnShape>(), 1, 2);
    shorter.shape = network::DncnnShape{.channels = 1, .depth = 17};
    const Weights read = recognise_weights(renamed(
                                               shorter, [](int64_t i) { return numbered("model.", 2 * i); }, true),
                                           "test");
    EXPECT_EQ(dncnn_of(read).depth, 17);
    EXPECT_EQ(parameters_of(read), 555'137);
    // deepinv adds what KAIR subtracts
    const StateDict exported = test::to_state_dict(read);
    EXPECT_EQ(exported.at("out_conv.weight").values[5], -read.convolutions.at("out_conv").weight[5]);
    EXPECT_EQ(exported.at("in_conv.weight").values[5], read.convolutions.at("in_conv").weight[5]);
    expect_same_values(recognise_weights(test::to_state_dict(recognise_weights(exported, "test")), "test"),
                       recognise_weights(exported, "test"));
}

/// Folded values against batch norm applied to an input of ones in channel 0, tap 4: y = norm(w + b).
void expect_folded(const Weights& read, const Weights& raw, const StateDict& tensors, const std::string& norm,
                   const std::string& name, bool bias, double eps) {
    const Convolution& before = raw.convolutions.at(name);
    const Convolution& after = read.convolutions.at(name);
    ASSERT_EQ(after.bias.size(), 64u);
    for (size_t c = 0; c < 64; ++c) {
        const double x = double{before.weight[c * 576 + 4]} + (bias ? double{before.bias[c]} : 0.0);
        const double expected = (x - tensors.at(norm + ".running_mean").values[c]) /
                                    std::sqrt(tensors.at(norm + ".running_var").values[c] + eps) *
                                    tensors.at(norm + ".weight").values[c] +
                                tensors.at(norm + ".bias").values[c];
        EXPECT_NEAR(double{after.weight[c * 576 + 4]} + double{after.bias[c]}, expected,
                    1e-6 * (1 + std::abs(expected)))
            << name << " " << c;
    }
}

struct NormLayout {
    const char* prefix;
    bool bias;
    double eps;
};

TEST(Recognise, FoldsTheNormOfDncnnLayoutsThatHaveOne) {
    const Weights raw = make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 4);
    for (const NormLayout layout : {NormLayout{"model.", true, 1e-4}, NormLayout{"module.dncnn.", false, 1e-5}}) {
        const auto index_of = [](int64_t i) { return i == 0 ? 0 : 3 * i - 1; };
        StateDict tensors = renamed(
            raw, [&](int64_t i) { return numbered(layout.prefix, index_of(i)); }, layout.bias);
        for (int64_t i = 1; i + 1 < dncnn_of(raw).depth; ++i)
            add_norm(tensors, numbered(layout.prefix, index_of(i) + 1), static_cast<size_t>(i), 64);
        // Small variances show which eps was used.
        tensors.at(numbered(layout.prefix, 3) + ".running_var").values[9] = 1e-4f;
        const Weights read = recognise_weights(tensors, "test");
        EXPECT_EQ(dncnn_of(read).depth, 20);
        EXPECT_EQ(dncnn_of(read).residual, network::DncnnResidual::subtract);
        EXPECT_EQ(read.convolutions.at("in_conv").bias.empty(), !layout.bias);
        EXPECT_EQ(read.convolutions.at("out_conv").weight, raw.convolutions.at("out_conv").weight);
        for (const int64_t i : {1, 9, 18})
            expect_folded(read, raw, tensors, numbered(layout.prefix, index_of(i) + 1), numbered("conv_list.", i - 1),
                          layout.bias, layout.eps);
        const StateDict exported = test::to_state_dict(read);  // with zeros where the layout has no bias
        EXPECT_EQ(exported.at("in_conv.bias").shape, std::vector<int64_t>{64});
    }
}

/// A DnCNN of 5 layers, written as a Sequential.
struct SequentialLayout {
    const char* prefix;
    bool first_bias, inner_bias, last_bias, norm;
    double eps = 1e-5;
};

StateDict sequential(const Weights& raw, const SequentialLayout& layout) {
    const int64_t last = dncnn_of(raw).depth - 1;
    const auto index_of = [&](int64_t i) { return layout.norm ? (i == 0 ? 0 : 3 * i - 1) : 2 * i; };
    StateDict tensors = renamed(
        raw, [&](int64_t i) { return numbered(layout.prefix, index_of(i)); }, true);
    for (int64_t i = 0; i <= last; ++i) {
        const bool has_bias = i == 0 ? layout.first_bias : i == last ? layout.last_bias : layout.inner_bias;
        if (!has_bias) tensors.erase(numbered(layout.prefix, index_of(i)) + ".bias");
        if (!layout.norm || i == 0 || i == last) continue;
        const std::string norm = numbered(layout.prefix, index_of(i) + 1);
        add_norm(tensors, norm, static_cast<size_t>(i), 64);
        tensors.at(norm + ".running_var").values[9] = 1e-4F;  // small variances show which eps was used
    }
    return tensors;
}

TEST(Recognise, KnowsDncnnsThatAreWrittenAsOneSequential) {
    const Weights raw = make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 5}, 4);
    for (const SequentialLayout& layout : {SequentialLayout{"net.", true, false, true, true},
                                           {"model.", true, false, true, true},
                                           {"dncnn.", true, false, true, true},
                                           {"body.layers.", true, true, true, true},
                                           {"dncnn.", true, false, false, true, 1e-4},
                                           {"netG.dncnn.", true, false, false, true, 1e-4},
                                           {"state.netG.model.", true, true, true, true, 1e-4},
                                           {"netG.supermodel.", true, true, true, true},
                                           {"netG.model.", true, true, true, true, 1e-4},
                                           {"model.model.", true, true, true, true, 1e-4},
                                           {"model.", true, true, true, true, 1e-4},
                                           {"dncnn.", true, true, true, false},
                                           {"", true, true, true, false},
                                           {"net.", false, false, false, false}}) {
        StateDict tensors = sequential(raw, layout);
        const Weights alone = recognise_weights(tensors, "test");
        tensors["loss.vgg.0.weight"] = {{4, 3, 3, 3}, std::vector<float>(108, 1)};
        const bool has_prefix = layout.prefix[0] != 0;  // else the loss is a part of a network that is not known
        const Weights read = has_prefix ? recognise_weights(tensors, "test") : alone;
        EXPECT_EQ(read.convolutions.at("out_conv").weight, alone.convolutions.at("out_conv").weight) << layout.prefix;
        EXPECT_EQ(read.shape, network::NetworkShape(network::DncnnShape{
                                  .channels = 1, .depth = 5, .residual = network::DncnnResidual::subtract}));
        const bool may_be_named = layout.eps != 1e-5;  // as KAIR's, whose names and shapes say all but eps
        EXPECT_TRUE(may_be_named || read.guess.find("read as a DnCNN") != std::string::npos) << read.guess;
        EXPECT_EQ(read.guess.find("eps") != std::string::npos, layout.norm) << read.guess;
        EXPECT_EQ(read.convolutions.at("out_conv").weight, raw.convolutions.at("out_conv").weight);
        EXPECT_EQ(read.convolutions.at("in_conv").bias.empty(), !layout.first_bias);
        if (layout.norm)
            expect_folded(read, raw, tensors, numbered(layout.prefix, 6), "conv_list.1", layout.inner_bias, layout.eps);
    }
}

TEST(Recognise, RefusesASequentialThatIsTheLesserPartOfAFile) {
    const Weights raw = make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 5}, 4);
    for (const char* prefix : {"fcn.fcn.", "fcn.", "netG.model.", "model."}) {
        StateDict tensors = sequential(raw, {prefix, true, true, true, false});
        for (int i = 0; i < 5; ++i)
            tensors["unet." + std::to_string(i) + ".weight"] = {{4, 4, 1, 1}, std::vector<float>(16, 1)};
        EXPECT_NO_THROW((void)recognise_weights(tensors, "test")) << "as many beside it";
        tensors["unet.last.weight"] = {{4, 4, 1, 1}, std::vector<float>(16, 1)};
        if (std::string_view(prefix).ends_with("model.")) {
            EXPECT_NO_THROW((void)recognise_weights(tensors, "test")) << "it is called a network";
            continue;
        }
        EXPECT_THAT(
            usage_error([&] { (void)recognise_weights(tensors, "test.pth"); }),
            testing::AllOf(HasSubstr("test.pth"), HasSubstr("part of a larger network"), HasSubstr("'unet.0.weight'")));
    }
}

TEST(Recognise, RefusesTwoSequentialsThatAreBothCalledNetworks) {
    const Weights raw = make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 5}, 4);
    StateDict tensors = sequential(raw, {"model.", true, true, true, false});
    tensors.merge(sequential(raw, {"teacher.model.", true, true, true, false}));
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "test.pth"); }), HasSubstr("holds 2 networks"));
    StateDict averaged = sequential(raw, {"netG.model.", true, true, true, false});
    averaged.merge(sequential(raw, {"netG_ema.model.", true, true, true, false}));
    EXPECT_NO_THROW((void)recognise_weights(averaged, "test.pth"));
}

TEST(Recognise, NotesThatADnCNNMayBeKairsIrcnnWhereverItLies) {
    for (const char* prefix : {"model.", "netG.model.", "body."}) {
        const Weights raw = make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 7}, 4);
        StateDict tensors = sequential(raw, {prefix, true, true, true, false});
        for (const bool is_alone : {true, false}) {
            if (!is_alone) tensors["loss.scale"] = {{1}, {1}};
            const Weights read = recognise_weights(tensors, "test");
            EXPECT_EQ(read.guess.find("IRCNN") != std::string::npos, prefix != std::string("body.")) << read.guess;
        }
    }
}

// A layer that is lost would otherwise be a network that is one layer shorter.
TEST(Recognise, RefusesASequentialThatLacksATensor) {
    const Weights raw = make_seeded_weights(network::DncnnShape{.channels = 1, .depth = 5}, 4);
    for (const SequentialLayout& layout :
         {SequentialLayout{"net.", true, true, true, true}, {"net.", true, true, true, false}}) {
        const StateDict whole = sequential(raw, layout);
        for (const auto& [key, tensor] : whole) {
            if (key.ends_with("num_batches_tracked")) continue;
            StateDict tensors = whole;
            tensors.erase(key);
            EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "small.pth"); }), HasSubstr("small.pth"))
                << key;
        }
    }
    StateDict shorter = sequential(raw, {"net.", true, true, true, false});
    shorter.erase("net.4.weight");
    shorter.erase("net.4.bias");
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(shorter, "small.pth"); }), HasSubstr("small.pth"));
}

TEST(Recognise, RefusesTheNetworkOfAGradientStepDenoiser) {
    StateDict tensors;
    for (auto& [key, tensor] :
         test::to_state_dict(make_seeded_weights(network::DrunetShape{.widths = {8, 16}, .blocks = 2}, 1)))
        tensors["student_grad.model." + key] = tensor;
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "gs.pth"); }), HasSubstr("gradient-step"));
}

TEST(Recognise, FoldsTheNormOfUnet) {
    const Weights raw = make_seeded_weights(network::kind_of<network::UnetShape>(), 3, 4);
    StateDict tensors = test::to_state_dict(raw);
    add_norm(tensors, "Conv1.4", 3, 64);
    add_norm(tensors, "Up_conv2.4", 5, 64);
    const Weights read = recognise_weights(tensors, "test");
    expect_folded(read, raw, tensors, "Conv1.4", "Conv1.3", true, 1e-5);
    expect_folded(read, raw, tensors, "Up_conv2.4", "Up_conv2.3", true, 1e-5);
    EXPECT_EQ(read.convolutions.at("Conv4.0").weight, raw.convolutions.at("Conv4.0").weight);
}

TEST(Recognise, ListsWhatIsMissingSurplusAndMisshapen) {
    StateDict tensors =
        test::to_state_dict(make_seeded_weights(network::DrunetShape{.widths = {8, 16}, .blocks = 3}, 1));
    tensors.erase("m_head.weight");
    tensors.erase("m_body.2.res.0.weight");
    tensors["m_tail.bias"] = {{3}, {0, 0, 0}};
    tensors["m_down1.3.weight"].shape = {16, 32, 2, 1};
    const std::string message = usage_error([&] { (void)recognise_weights(tensors, "file.pth"); });
    EXPECT_THAT(message, AllOf(HasSubstr("file.pth"), HasSubstr("looks like drunet"),
                               HasSubstr("2 missing: 'm_body.2.res.0.weight', 'm_head.weight'"),
                               HasSubstr("1 surplus: 'm_tail.bias'"),
                               HasSubstr("'m_down1.3.weight' is [16, 32, 2, 1], not [16, 8, 2, 2]")));
}

TEST(Recognise, RefusesWhatIsNoKnownNetwork) {
    EXPECT_THAT(usage_error([] {
                    (void)recognise_weights({{"fc.weight", {{1}, {1}}}}, "vgg.pth");
                }),
                AllOf(HasSubstr("vgg.pth"), HasSubstr("no network that is known"), HasSubstr("'fc.weight'")));
    EXPECT_THAT(usage_error([] {
                    (void)recognise_weights({{"part.m_head.weight", {{1}, {1}}}, {"loss", {{1}, {1}}}}, "gan.pth");
                }),
                AllOf(HasSubstr("its 2 tensors"), testing::Not(HasSubstr("keys under"))));
    EXPECT_THROW((void)recognise_weights({}, "empty"), UsageError);
    EXPECT_THROW((void)recognise_weights({{"conv_list.999999999999.weight", {{1, 1, 1, 1}, {1}}}}, "lying"),
                 UsageError);
    EXPECT_THROW((void)recognise_weights({{"in_conv.weight", {{int64_t{1} << 40, 3, 3, 3}, {}}}}, "lying"), UsageError);
}

/// The tensors of `network` with `prefix` before their keys, added to `tensors`.
void add_under(const std::string& prefix, const Weights& network, StateDict& tensors) {
    for (auto& [key, tensor] : test::to_state_dict(network)) tensors[prefix + key] = tensor;
}

TEST(Recognise, FindsTheNetworkUnderAPrefix) {
    for (const network::NetworkShape& shape : test::small_relatives())
        for (const char* prefix : {"model.", "net.", "denoiser.net.", "a.b.c.", "dncnn.", "module.model._orig_mod."}) {
            const Weights weights = make_seeded_weights(shape, 2);
            StateDict tensors;
            add_under(prefix, weights, tensors);
            EXPECT_EQ(recognise_weights(tensors, "test").note, "");
            tensors["loss.window"] = {{2}, {1, 2}};
            tensors["mean"] = {{1}, {1}};
            const Weights read = recognise_weights(tensors, "test");
            expect_same_values(read, weights);
            EXPECT_EQ(read.note, "not read beside the network: 'loss.window', 'mean'");
            EXPECT_EQ(read.source, "test");
        }
}

TEST(Recognise, TakesTheAverageOfTwoNetworksAndNamesTheOther) {
    const Weights plain = make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1);
    const Weights average = make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 2);
    for (const char* prefix :
         {"ema.", "model_ema.", "ema_model.module.", "net_g_ema.", "ema.ema_model.", "swa.", "trainer.state.ema."}) {
        StateDict tensors;
        add_under("model.", plain, tensors);
        add_under(prefix, average, tensors);
        const Weights read = recognise_weights(tensors, "test");
        expect_same_values(read, average);
        EXPECT_THAT(read.note, AllOf(HasSubstr("not that under 'model.'"), testing::Not(HasSubstr("beside"))))
            << prefix;
    }
    StateDict tensors;
    add_under("schema.", plain, tensors);  // 'ema' within a word is no average
    add_under("model.", average, tensors);
    expect_same_values(recognise_weights(tensors, "test"), average);
}

TEST(Recognise, RefusesToChooseBetweenNetworks) {
    StateDict tensors;
    for (const char* prefix : {"student.", "teacher."})
        add_under(prefix, make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1), tensors);
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x.ckpt"); }),
                AllOf(HasSubstr("x.ckpt"), HasSubstr("2 networks"), HasSubstr("'student.', 'teacher.'")));
    for (const char* prefix : {"twin.", "uncle."})
        add_under(prefix, make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1), tensors);
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x.ckpt"); }),
                HasSubstr("'student.', 'teacher.', 'twin.' and 1 more"));
}

TEST(Recognise, NamesTheDifferencesUnderAPrefix) {
    StateDict tensors;
    add_under("model.", make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1), tensors);
    tensors.erase("model.conv_list.3.bias");
    tensors["model.extra"] = {{1}, {1}};
    tensors["loss"] = {{1}, {1}};
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x.ckpt"); }),
                AllOf(HasSubstr("x.ckpt, keys under 'model.'"), HasSubstr("1 missing: 'conv_list.3.bias'"),
                      HasSubstr("1 surplus: 'extra'"), testing::Not(HasSubstr("'loss'"))));
}

TEST(Recognise, EndsOnAFileOfManyPrefixes) {
    StateDict tensors;
    for (int i = 0; i < 20'000; ++i) tensors[numbered("a", i % 5000) + "." + std::to_string(i) + ".x.y"] = {{1}, {1}};
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x"); }), HasSubstr("no network that is known"));
}

TEST(Recognise, FindsTheNetworkAmongManySmallParts) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 5, .width = 8}, 2);
    StateDict tensors;
    for (int i = 0; i < 100; ++i) tensors[numbered("a", i) + ".x"] = {{1}, {1}};
    add_under("model.", weights, tensors);
    expect_same_values(recognise_weights(tensors, "test"), weights);
}

TEST(Recognise, LeavesOutTheCountersOfATraining) {
    StateDict tensors;
    add_under("module.", make_seeded_weights(network::kind_of<network::UnetShape>(), 3, 1), tensors);
    tensors["n_averaged"] = {{}, {12}};
    EXPECT_EQ(recognise_weights(tensors, "test").note, "");
}

TEST(Recognise, ADncnnOfTwoLayersIsOne) {
    const Weights two = make_seeded_weights(network::DncnnShape{.depth = 2, .width = 4}, 3);
    EXPECT_EQ(recognise_weights(test::to_state_dict(two), "two").shape, two.shape);
}

TEST(Recognise, RefusesValuesThatCannotBeUsed) {
    StateDict tensors = test::to_state_dict(make_seeded_weights(network::kind_of<network::UnetShape>(), 3, 1));
    tensors.at("Conv2.1.running_var").values[3] = -1;
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x"); }),
                AllOf(HasSubstr("'Conv2.1.running_var'"), HasSubstr("element 3"), HasSubstr("negative variance")));
    tensors.at("Conv2.1.running_var").values[3] = NAN;
    EXPECT_THAT(usage_error([&] { (void)recognise_weights(tensors, "x"); }),
                AllOf(HasSubstr("'Conv2.1.running_var'"), HasSubstr("element 3"), HasSubstr("finite")));
}

class WeightsFile : public testing::Test {
  protected:
    void save(const std::map<std::string, std::string>& metadata) const {
        test::save_weights(make_seeded_weights(network::kind_of<network::DncnnShape>(), 3, 1), file_, metadata);
    }
    const test::TemporaryFolder folder_;
    const std::filesystem::path file_ = folder_ / "weights.safetensors";
};

TEST_F(WeightsFile, SaysItsDigestAndTheSigmaItWasTrainedFor) {
    save({{"sigma_train", "0.1"}});
    const Weights weights = load_weights(file_, network::kind_of<network::DncnnShape>());
    EXPECT_EQ(weights.trained_sigma, 0.1);
    EXPECT_EQ(weights.sha256, sha256_of_file(file_));
    EXPECT_EQ(weights.source, file_.string());
    save({{"sigma", "0.2"}});
    EXPECT_EQ(load_weights(file_, network::kind_of<network::DncnnShape>()).trained_sigma, 0.2);
    save({});
    EXPECT_FALSE(load_weights(file_, network::kind_of<network::DncnnShape>()).trained_sigma.has_value());
    save({{"sigma_train", "25"}});
    EXPECT_THAT(usage_error([&] { (void)load_weights(file_, network::kind_of<network::DncnnShape>()); }),
                HasSubstr("sigma_train"));
    save({{"sigma_train", "0.1"}, {"sigma", "0.10"}});
    EXPECT_EQ(load_weights(file_, network::kind_of<network::DncnnShape>()).trained_sigma, 0.1);
    for (const char* other : {"25", "0-50", "[0, 0.2]", "a word"}) {
        save({{"sigma", other}});
        EXPECT_FALSE(load_weights(file_, network::kind_of<network::DncnnShape>()).trained_sigma.has_value()) << other;
        save({{"sigma_train", "0.1"}, {"sigma", other}});
        EXPECT_EQ(load_weights(file_, network::kind_of<network::DncnnShape>()).trained_sigma, 0.1) << other;
    }
    save({{"sigma_train", "0.1"}, {"sigma", "0.2"}});
    EXPECT_THAT(usage_error([&] { (void)load_weights(file_, network::kind_of<network::DncnnShape>()); }),
                HasSubstr("two noise levels"));
}

TEST_F(WeightsFile, SaysTheHighestLevelOfItsTraining) {
    for (const auto& [range, most] : std::map<std::string, std::optional<double>>{
             {"0 to 0.2", 0.2}, {"0.2", {}}, {"0 to 50", {}}, {"0 to x", {}}, {"0 to 0", {}}, {"0 to -1", {}}}) {
        save({{"sigma_range", range}});
        EXPECT_EQ(load_weights(file_, network::kind_of<network::DncnnShape>()).most_sigma, most) << range;
    }
}

// With such a length its first two bytes are those of an ONNX model.
TEST_F(WeightsFile, MayHaveAHeaderOfAnyLength) {
    int first = 0;
    for (size_t padding = 0; padding < 256 && first != 8; padding += 8) {
        save({{"padding", std::string(padding, ' ')}});
        first = std::ifstream(file_, std::ios::binary).get();
    }
    ASSERT_EQ(first, 8);
    EXPECT_NO_THROW((void)load_weights(file_, network::kind_of<network::DncnnShape>()));
}

TEST_F(WeightsFile, OfAnotherNetworkSaysWhichItIs) {
    save({});
    EXPECT_THAT(usage_error([&] { (void)load_weights(file_, network::kind_of<network::DrunetShape>()); }),
                HasSubstr("weights of dncnn, not of drunet"));
}

}  // namespace
}  // namespace pb::engine
