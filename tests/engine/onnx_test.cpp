// ONNX out and in. ONNX's own checker judges what is written; what other programs compute with it is compared in
// tests/readers/onnx_runtime_test.py. Models that differ in one thing are made from a written one.
#include "base/atomic_file.hpp"
#include "base/sha256.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "support/graph_text.hpp"
#include "support/graph_weights.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>

namespace pb::engine {
namespace {

using onnx::ModelProto;
using onnx::NodeProto;
using onnx::TensorProto;
using testing::AllOf;
using testing::HasSubstr;

// One of each network.
const std::vector<network::NetworkShape> kShapes{
    network::DrunetShape{.channels = 1, .widths = {8, 16}, .blocks = 2},
    network::DrunetShape{.widths = {4, 6, 8, 10}, .blocks = 1},
    network::DrunetShape{.widths = {8}, .blocks = 2},
    network::UnetShape{.widths = {4, 8, 12}},
    network::UnetShape{.channels = 1, .widths = {8}},
    network::DncnnShape{.depth = 4, .width = 24},
    network::DncnnShape{.depth = 2, .width = 3},
    network::DncnnShape{.channels = 1, .depth = 3, .residual = network::DncnnResidual::subtract},
    network::DncnnShape{.channels = 1, .depth = 3, .residual = network::DncnnResidual::none}};

class Onnx : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path file() const { return folder_ / "network.onnx"; }

    [[nodiscard]] ModelProto exported(const Weights& weights) const {
        save_onnx(weights, file());
        ModelProto model;
        std::ifstream in(file(), std::ios::binary);
        EXPECT_TRUE(model.ParseFromIstream(&in));
        return model;
    }

    [[nodiscard]] Weights load(const ModelProto& model, network::NetworkKind kind) const {
        write_whole(file(), model.SerializeAsString());
        return load_weights(file(), kind);
    }

    /// What is said about a network in which one thing was changed.
    [[nodiscard]] std::string refusal(const network::NetworkShape& shape,
                                      const std::function<void(ModelProto&)>& change) const {
        ModelProto model = exported(make_seeded_weights(shape, 3));
        change(model);
        return usage_error([&] { (void)load(model, network::kind_of(shape)); });
    }

  private:
    const test::TemporaryFolder folder_;
};

NodeProto& node_of(ModelProto& model, const std::string& type, int which = 0) {
    for (NodeProto& node : *model.mutable_graph()->mutable_node())
        if (node.op_type() == type && which-- == 0) return node;
    throw Error("the test's model has no such " + type);
}

onnx::AttributeProto& attribute_of(NodeProto& node, const std::string& name) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.name() == name) return attribute;
    onnx::AttributeProto& added = *node.add_attribute();
    added.set_name(name);
    return added;
}

TensorProto& tensor_of(ModelProto& model, const std::string& name) {
    for (TensorProto& tensor : *model.mutable_graph()->mutable_initializer())
        if (tensor.name() == name) return tensor;
    throw Error("the test's model has no tensor " + name);
}

std::vector<float> floats_of(const TensorProto& tensor) {
    std::vector<float> values(tensor.raw_data().size() / sizeof(float));
    std::memcpy(values.data(), tensor.raw_data().data(), tensor.raw_data().size());
    return values;
}

void set_floats(TensorProto& tensor, const std::vector<float>& values) {
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
}

void set_tensor(ModelProto& model, const std::string& name, const std::vector<int64_t>& shape) {
    TensorProto& tensor = tensor_of(model, name);
    tensor.clear_dims();
    size_t count = 1;
    for (const int64_t extent : shape) {
        tensor.add_dims(extent);
        count *= static_cast<size_t>(extent);
    }
    set_floats(tensor, std::vector<float>(count, 0.5F));
}

/// So that it becomes node `place`.
void insert(ModelProto& model, int place, const NodeProto& node) {
    auto& nodes = *model.mutable_graph()->mutable_node();
    *nodes.Add() = node;
    for (int i = nodes.size() - 1; i > place; --i) nodes.SwapElements(i, i - 1);
}

NodeProto make_node(const std::string& type, const std::string& input, const std::string& output) {
    NodeProto node;
    node.set_op_type(type);
    node.add_input(input);
    if (!output.empty()) node.add_output(output);
    return node;
}

/// Batch norm of 4 channels, without an output yet; its parts are added to `model`.
NodeProto make_norm(ModelProto& model, const std::string& input) {
    NodeProto norm = make_node("BatchNormalization", input, "");
    attribute_of(norm, "momentum").set_f(0.9F);  // which PyTorch writes
    for (const auto& [name, values] :
         std::vector<std::pair<std::string, std::vector<float>>>{{"scale", {1.5F, -2, 0.5F, 1}},
                                                                 {"shift", {0.1F, 0.2F, 0.3F, 0.4F}},
                                                                 {"mean", {1, 2, 3, 4}},
                                                                 {"var", {4, 1, 0.25F, 9}}}) {
        norm.add_input(name);
        TensorProto& tensor = *model.mutable_graph()->add_initializer();
        tensor.set_name(name);
        tensor.set_data_type(TensorProto::FLOAT);
        tensor.add_dims(4);
        set_floats(tensor, values);
    }
    return norm;
}

const network::DncnnShape kSmallDncnn{.depth = 3, .width = 4};
const network::UnetShape kSmallUnet{.widths = {4, 6}};
const network::DrunetShape kSmallDrunet{.widths = {4, 6}, .blocks = 1};

TEST_F(Onnx, GivesBackEveryNetworkThatWasWritten) {
    for (const network::NetworkShape& shape : kShapes) {
        const Weights weights = make_seeded_weights(shape, 5);
        save_onnx(weights, file());
        const Weights read = load_weights(file(), network::kind_of(shape));
        EXPECT_EQ(read.shape, shape) << network::to_text(read.shape);
        EXPECT_EQ(sha256_of_values(read), weights.sha256) << network::to_text(shape);
        for (const auto& [name, convolution] : weights.convolutions) {
            EXPECT_EQ(read.convolution(name).stride, convolution.stride) << name;
            EXPECT_EQ(read.convolution(name).transposed, convolution.transposed) << name;
            EXPECT_EQ(read.convolution(name).in_channels, convolution.in_channels) << name;
        }
        EXPECT_NE(read.sha256, weights.sha256) << "the file's";
        EXPECT_TRUE(read.trained);
    }
}

TEST_F(Onnx, IsCorrectByOnnxsOwnChecker) {
    for (const network::NetworkShape& shape : kShapes)
        EXPECT_NO_THROW(onnx::checker::check_model(exported(make_seeded_weights(shape, 5)))) << network::to_text(shape);
}

TEST_F(Onnx, SaysWhatTheNetworkTakes) {
    Weights weights = make_seeded_weights(kSmallDrunet, 5);
    const ModelProto drunet = exported(weights);
    EXPECT_EQ(drunet.graph().input(0).type().tensor_type().shape().dim(1).dim_value(), 4);
    EXPECT_EQ(drunet.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 3);
    EXPECT_EQ(drunet.graph().input(0).name(), "input");
    EXPECT_EQ(drunet.graph().output(0).name(), "output");
    for (const NodeProto& node : drunet.graph().node())
        EXPECT_EQ(node.name(), node.op_type().starts_with("Conv") ? node.input(1).substr(0, node.input(1).rfind('.'))
                                                                  : node.output(0));
    for (const int free : {0, 2, 3})
        EXPECT_TRUE(drunet.graph().input(0).type().tensor_type().shape().dim(free).has_dim_param());
    std::map<std::string, std::string> metadata;
    for (const auto& entry : drunet.metadata_props()) metadata[entry.key()] = entry.value();
    EXPECT_EQ(metadata["network"], "drunet");
    EXPECT_EQ(metadata["extents"], "multiples of 2");
    EXPECT_EQ(metadata["shape"], network::to_text(network::NetworkShape(kSmallDrunet)));
    EXPECT_EQ(metadata["weights_sha256"], weights.sha256);
    EXPECT_THAT(metadata["input"], HasSubstr("sigma"));
    EXPECT_FALSE(metadata.contains("sigma_train"));
}

TEST_F(Onnx, KeepsTheRangeOfTheTraining) {
    Weights weights = make_seeded_weights(kSmallDrunet, 5);
    weights.most_sigma = 0.2;
    EXPECT_EQ(load(exported(weights), network::kind_of<network::DrunetShape>()).most_sigma, 0.2);
    weights.most_sigma.reset();
    EXPECT_EQ(load(exported(weights), network::kind_of<network::DrunetShape>()).most_sigma, std::nullopt);
}

TEST_F(Onnx, KeepsTheSigmaOfTheTraining) {
    Weights weights = make_seeded_weights(kSmallDncnn, 5);
    weights.trained_sigma = 25.0 / 255;
    EXPECT_EQ(load(exported(weights), network::kind_of<network::DncnnShape>()).trained_sigma, 25.0 / 255);
    const std::string said = refusal(kSmallDncnn, [](ModelProto& model) {
        auto& entry = *model.add_metadata_props();
        entry.set_key("sigma_train");
        entry.set_value("25");
    });
    EXPECT_THAT(said, HasSubstr("is no noise level"));
}

TEST_F(Onnx, ReadsWhatComputesTheSameInOtherWords) {
    const Weights weights = make_seeded_weights(kSmallDncnn, 5);
    ModelProto model = exported(weights);
    auto& graph = *model.mutable_graph();
    NodeProto& sum = node_of(model, "Add");
    sum.mutable_input()->SwapElements(0, 1);  // image + map instead of map + image
    // A constant by a node instead of an initializer, in float_data instead of raw bytes, through an Identity.
    TensorProto& first = *graph.mutable_initializer(0);
    NodeProto constant, identity;
    constant.set_op_type("Constant");
    constant.add_output("made");
    attribute_of(constant, "value").set_type(onnx::AttributeProto::TENSOR);
    *attribute_of(constant, "value").mutable_t() = first;
    TensorProto& typed = *attribute_of(constant, "value").mutable_t();
    for (const float value : floats_of(first)) typed.add_float_data(value);
    typed.clear_raw_data();
    identity.set_op_type("Identity");
    identity.add_input("made");
    identity.add_output(first.name());
    graph.mutable_initializer()->DeleteSubrange(0, 1);
    *graph.add_node() = constant;
    *graph.add_node() = identity;
    const int count = graph.node_size();
    for (int moved = 0; moved < 2; ++moved)  // to the front, the constant first
        for (int i = count - 2 + moved; i > moved; --i) graph.mutable_node()->SwapElements(i, i - 1);
    // A concatenation of one map, as exporters write the first step of a dense block.
    NodeProto concatenation = make_node("Concat", "input", "joined");
    attribute_of(concatenation, "axis").set_i(-3);  // from the end
    insert(model, 2, concatenation);
    node_of(model, "Conv").set_input(0, "joined");
    // A node that nothing reads.
    NodeProto& idle = *graph.add_node();
    idle.set_op_type("Relu");
    idle.add_input("input");
    idle.add_output("idle");
    graph.add_input()->set_name(graph.initializer(0).name());  // old files list weights among the inputs
    model.mutable_opset_import(0)->set_domain("ai.onnx");
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DncnnShape>())), weights.sha256);
}

TEST_F(Onnx, TakesSummandsInAnyOrder) {
    const Weights weights = make_seeded_weights(kSmallDrunet, 5);
    ModelProto model = exported(weights);
    for (NodeProto& node : *model.mutable_graph()->mutable_node())
        if (node.op_type() == "Add") node.mutable_input()->SwapElements(0, 1);
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DrunetShape>())), weights.sha256);
}

TEST_F(Onnx, AConvolutionWithoutPadsHasNone) {
    const Weights weights = make_seeded_weights(kSmallDrunet, 5);
    ModelProto model = exported(weights);
    int num_changed = 0;
    for (NodeProto& node : *model.mutable_graph()->mutable_node()) {
        auto& attributes = *node.mutable_attribute();
        for (int i = attributes.size() - 1; i >= 0; --i)
            if (attributes[i].name() == "pads" && attributes[i].ints(0) == 0) {
                attributes.DeleteSubrange(i, 1);
                ++num_changed;
            }
    }
    EXPECT_GT(num_changed, 0);
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DrunetShape>())), weights.sha256);
}

TEST_F(Onnx, IdentityAndDropoutOfAMapAreLeftOut) {
    const Weights weights = make_seeded_weights(kSmallDncnn, 5);
    for (const char* type : {"Identity", "Dropout"}) {
        ModelProto model = exported(weights);
        NodeProto& relu = node_of(model, "Relu");
        const std::string output = relu.output(0);
        relu.set_output(0, "before");
        insert(model, 2, make_node(type, "before", output));
        EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DncnnShape>())), weights.sha256) << type;
    }
}

TEST_F(Onnx, RefusesADropoutThatIsToldWhetherItTrains) {
    EXPECT_THAT(refusal(kSmallDncnn,
                        [](ModelProto& m) {
                            NodeProto& relu = node_of(m, "Relu");
                            const std::string output = relu.output(0);
                            relu.set_output(0, "before");
                            NodeProto dropout = make_node("Dropout", "before", output);
                            dropout.add_input("ratio");
                            dropout.add_input("training_mode");
                            insert(m, 2, dropout);
                        }),
                HasSubstr("Dropout"));
}

TEST_F(Onnx, FoldsBatchNormInDoublePrecision) {
    const Weights weights = make_seeded_weights(kSmallDncnn, 5);
    ModelProto model = exported(weights);
    NodeProto& convolution = node_of(model, "Conv", 1);
    const std::string output = convolution.output(0);
    convolution.set_output(0, "before_norm");
    NodeProto norm = make_norm(model, "before_norm");
    norm.add_output(output);
    attribute_of(norm, "epsilon").set_type(onnx::AttributeProto::FLOAT);
    attribute_of(norm, "epsilon").set_f(0.5F);
    attribute_of(norm, "training_mode").set_type(onnx::AttributeProto::INT);  // torch.onnx writes it, 0
    insert(model, 3, norm);
    const Weights read = load(model, network::kind_of<network::DncnnShape>());
    const Convolution &before = weights.convolution("conv_list.0"), &after = read.convolution("conv_list.0");
    EXPECT_FLOAT_EQ(after.bias[0], (before.bias[0] - 1) * 1.5F / std::sqrt(4.5F) + 0.1F);
    EXPECT_FLOAT_EQ(after.bias[2], (before.bias[2] - 3) * 0.5F / std::sqrt(0.75F) + 0.3F);
    EXPECT_FLOAT_EQ(after.weight[0], before.weight[0] * 1.5F / std::sqrt(4.5F));
    EXPECT_FLOAT_EQ(after.weight.back(), before.weight.back() / std::sqrt(9.5F));
    EXPECT_EQ(read.convolution("in_conv").weight, weights.convolution("in_conv").weight);
}

TEST_F(Onnx, FoldsNoNormIntoWhatElseIsRead) {
    // By its own name, or by another one, of which the first reader knows nothing.
    for (const char* normed : {"conv_list.0", "alias"})
        EXPECT_THAT(refusal(kSmallDncnn,
                            [&](ModelProto& m) {
                                NodeProto norm = make_norm(m, normed);
                                norm.add_output("idle");
                                insert(m, 3, norm);
                                insert(m, 3, make_node("Identity", "conv_list.0", "alias"));
                            }),
                    HasSubstr("network.onnx"))
            << normed;
    // By a reader that came before.
    EXPECT_THAT(refusal(kSmallDncnn,
                        [](ModelProto& m) {
                            NodeProto norm = make_norm(m, "conv_list.0");
                            norm.add_output("idle");
                            insert(m, 4, norm);
                        }),
                HasSubstr("that nothing else reads"));
}

TEST_F(Onnx, ReadsAnyGraphOfOurOperationsWithItsValues) {
    for (const network::Graph& graph : test::any_graphs(10)) {
        SCOPED_TRACE(network::to_text(graph));
        const Weights weights = test::weights_of(graph, 3);
        save_onnx(weights, file());
        EXPECT_FALSE(known_network(file()));
        const LayersInFile found = layers_in(file());
        const int64_t in = graph.channels_in(), out = graph.channels_out();
        if ((out != 1 && out != 3) || (in != out && in != out + 1)) continue;  // of no image
        ASSERT_TRUE(found.card) << found.obstacle;
        EXPECT_EQ(found.card->layers, graph);
        const Weights read = custom_network(file(), *found.card);
        EXPECT_EQ(read.convolutions.size(), weights.convolutions.size());
        for (const auto& [name, convolution] : weights.convolutions) {
            EXPECT_EQ(read.convolution(name).weight, convolution.weight) << name;
            EXPECT_EQ(read.convolution(name).bias, convolution.bias) << name;
        }
    }
}

TEST_F(Onnx, LayersOfAnotherFileAreRefused) {
    save_onnx(test::weights_of(test::mixed_graph(), 3), file());
    const network::NetworkCard card = *layers_in(file()).card;
    save_onnx(test::weights_of(test::mixed_graph(1), 3), file());
    EXPECT_THAT(usage_error([&] { (void)custom_network(file(), card); }),
                AllOf(HasSubstr("network.onnx"), HasSubstr("other layers")));
}

TEST_F(Onnx, SaysWhichNodeKeepsLayersFromBeingKnown) {
    const auto obstacle = [&](const std::function<void(ModelProto&)>& change) {
        ModelProto model = exported(test::weights_of(test::seen_graph(), 3));
        change(model);
        write_whole(file(), model.SerializeAsString());
        const LayersInFile found = layers_in(file());
        EXPECT_FALSE(found.card);
        return found.obstacle;
    };
    const auto rename = [](NodeProto& node) { node.set_name("/body/Gelu"); };
    EXPECT_THAT(obstacle([&](ModelProto& m) {
                    rename(node_of(m, "MaxPool"));
                    node_of(m, "MaxPool").set_op_type("Gelu");
                }),
                testing::StartsWith("node '/body/Gelu' ('Gelu')"));
    EXPECT_THAT(obstacle([](ModelProto& m) {
                    NodeProto& node = node_of(m, "MaxPool");
                    node.clear_name();
                    node.set_op_type("Gelu");
                    for (NodeProto& reader : *m.mutable_graph()->mutable_node())
                        for (std::string& name : *reader.mutable_input())
                            if (name == node.output(0)) name = "pooled";
                    node.set_output(0, "pooled");
                }),
                testing::StartsWith("node 'pooled' ('Gelu')"))
        << "by its output";
    EXPECT_THAT(obstacle([&](ModelProto& m) {
                    rename(node_of(m, "Conv", 1));
                    attribute_of(node_of(m, "Conv", 1), "group").set_i(2);
                }),
                testing::StartsWith("node '/body/Gelu' ('Conv'): 'group'"));
    EXPECT_THAT(obstacle([](ModelProto& m) { node_of(m, "Conv").set_input(0, "last"); }), HasSubstr("'last'"))
        << "a cycle";
    EXPECT_THAT(obstacle([](ModelProto& m) { node_of(m, "Conv", 1).set_output(0, "first"); }), HasSubstr("two nodes"));
    EXPECT_THAT(obstacle([](ModelProto& m) { tensor_of(m, "low.weight").set_name("lost"); }),
                HasSubstr("tensor 'low.weight'"));
    EXPECT_THAT(obstacle([](ModelProto& m) { set_tensor(m, "low.weight", {2, 3, 3, 3}); }), HasSubstr("3 channels"));
    EXPECT_THAT(obstacle([](ModelProto& m) { set_tensor(m, "low.weight", {2, 2, 5, 5}); }), HasSubstr("kernel of 5"));
    EXPECT_THAT(obstacle([](ModelProto& m) {
                    m.mutable_graph()
                        ->mutable_input(0)
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape()
                        ->mutable_dim(2)
                        ->set_dim_value(64);
                }),
                HasSubstr("fixed size"));
}

TEST_F(Onnx, SharedWeightsAreNotThoseOfAnotherName) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 4, .width = 4}, 5);
    ModelProto model = exported(weights);
    node_of(model, "Conv", 2).set_input(1, "conv_list.0.weight");
    const std::string made_up = "conv_list.0.node6.weight";  // which the reader calls the second use
    model.mutable_graph()->add_initializer()->set_name(made_up);
    tensor_of(model, made_up).set_data_type(TensorProto::FLOAT);
    set_tensor(model, made_up, {4, 4, 3, 3});
    NodeProto idle = node_of(model, "Conv", 1);
    idle.set_input(1, made_up);
    idle.set_output(0, "idle");
    insert(model, 2, idle);
    const Weights read = load(model, network::kind_of<network::DncnnShape>());
    EXPECT_EQ(read.convolution("conv_list.1").weight, weights.convolution("conv_list.0").weight);
}

/// Moves the values of a tensor into a file beside the model, behind 16 other bytes.
void move_out(TensorProto& tensor, const std::filesystem::path& file, const std::string& location) {
    write_whole(file, std::string(16, 'x') + tensor.raw_data());
    const std::string length = std::to_string(tensor.raw_data().size());
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         std::map<std::string, std::string>{{"location", location}, {"offset", "16"}, {"length", length}}) {
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
    }
}

void set_external(TensorProto& tensor, const std::string& key, const std::string& value) {
    for (auto& entry : *tensor.mutable_external_data())
        if (entry.key() == key) entry.set_value(value);
}

TEST_F(Onnx, ReadsWeightsInAFileBesideTheModel) {
    const Weights weights = make_seeded_weights(kSmallDncnn, 5);
    ModelProto model = exported(weights);
    TensorProto& tensor = tensor_of(model, "conv_list.0.weight");
    const std::filesystem::path beside = file().parent_path() / "network.onnx.data";
    move_out(tensor, beside, "network.onnx.data");
    const auto refused = [&] {
        return usage_error([&] { (void)load(model, network::kind_of<network::DncnnShape>()); });
    };
    const Weights read = load(model, network::kind_of<network::DncnnShape>());
    EXPECT_EQ(sha256_of_values(read), weights.sha256);
    EXPECT_EQ(read.sha256, digest_of_network(file())) << "its values are in the other file";
    EXPECT_NE(read.sha256, sha256_of_file(file()));
    tensor.clear_data_location();  // the place is enough
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DncnnShape>())), weights.sha256);
    for (const char* length : {"8", "580"}) {
        set_external(tensor, "length", length);
        EXPECT_THAT(refused(), AllOf(HasSubstr("'conv_list.0.weight'"), HasSubstr("its shape asks for 576")));
    }
    set_external(tensor, "length", "576");
    set_external(tensor, "offset", "17");
    EXPECT_THAT(refused(), HasSubstr("cut off"));
    set_external(tensor, "offset", "-1");
    EXPECT_THAT(refused(), HasSubstr("'-1'"));
    set_external(tensor, "offset", "16");
    set_external(tensor, "location", "none.data");
    EXPECT_THAT(refused(), HasSubstr("not beside the model"));
    set_external(tensor, "location", std::string(5000, 'n'));
    EXPECT_THAT(refused(), AllOf(HasSubstr("'conv_list.0.weight'"), HasSubstr("its values lie in 'nnn")));
    for (const std::string& outside : {std::string("../data"), std::string("/etc/passwd"), beside.string()}) {
        set_external(tensor, "location", outside);
        EXPECT_THAT(refused(), HasSubstr("outside the model's folder")) << outside;
    }
    std::filesystem::create_symlink("/etc/passwd", file().parent_path() / "link");
    set_external(tensor, "location", "link");
    EXPECT_THAT(refused(), HasSubstr("outside the model's folder"));
}

// What is remembered of a network must not outlive its values.
TEST_F(Onnx, TheDigestOfANetworkIsThatOfItsWeightsWhereverTheyLie) {
    ModelProto model = exported(test::weights_of(test::seen_graph(), 3));
    const std::filesystem::path beside = file().parent_path() / "data";
    TensorProto& tensor = tensor_of(model, "low.weight");
    const std::string values = tensor.raw_data();
    EXPECT_EQ(digest_of_network(file()), sha256_of_file(file()));
    EXPECT_THAT(files_of_network(file()), testing::ElementsAre(file()));
    move_out(tensor, beside, "data");
    write_whole(file(), model.SerializeAsString());
    EXPECT_THAT(files_of_network(file()), testing::ElementsAre(file(), std::filesystem::canonical(beside)));
    const std::string first = digest_of_network(file());
    EXPECT_EQ(custom_network(file(), *layers_in(file()).card).sha256, first);
    write_whole(beside, std::string(16, 'x') + std::string(values.size(), '\0'));
    EXPECT_NE(digest_of_network(file()), first);
}

TEST_F(Onnx, FilesOfConstantsAndOfBranchesBelongToIt) {
    ModelProto model = exported(test::weights_of(test::seen_graph(), 3));
    NodeProto& node = *model.mutable_graph()->add_node();
    const auto move_out_of = [&](TensorProto& tensor, const std::string& name) {
        tensor = tensor_of(model, "low.weight");
        move_out(tensor, file().parent_path() / name, name);
    };
    move_out_of(*attribute_of(node, "value").mutable_t(), "constant");
    move_out_of(*attribute_of(node, "values").add_tensors(), "listed");
    move_out_of(*attribute_of(node, "then_branch").mutable_g()->add_initializer(), "branch");
    move_out_of(*attribute_of(node, "branches").add_graphs()->add_initializer(), "branches");
    write_whole(file(), model.SerializeAsString());
    EXPECT_EQ(files_of_network(file()).size(), 5U);
}

TEST_F(Onnx, OperationsThatSeeAWholeWindowAreNamed) {
    const ModelProto local = exported(make_seeded_weights(kSmallDncnn, 3));
    const auto found = [&](const std::function<void(ModelProto&)>& change) {
        ModelProto model = local;
        change(model);
        write_whole(file(), model.SerializeAsString());
        return global_operation_in(file());
    };
    const auto with_node = [&](const std::string& type, const onnx::TensorProto* axes,
                               const std::vector<int64_t>& listed) {
        return found([&](ModelProto& model) {
            NodeProto& node = *model.mutable_graph()->add_node();
            node.set_op_type(type);
            node.set_name("/gate");
            node.add_input("x");
            if (axes != nullptr) {
                node.add_input("axes");
                *model.mutable_graph()->add_initializer() = *axes;
            }
            for (const int64_t axis : listed) attribute_of(node, "axes").add_ints(axis);
        });
    };
    const auto over = [&](const std::vector<int64_t>& axes, bool is_raw) {
        TensorProto tensor;
        tensor.set_name("axes");
        tensor.set_data_type(TensorProto::INT64);
        tensor.add_dims(static_cast<int64_t>(axes.size()));
        if (is_raw) tensor.set_raw_data(axes.data(), axes.size() * sizeof(int64_t));
        if (!is_raw) tensor.mutable_int64_data()->Assign(axes.begin(), axes.end());
        return with_node("ReduceMean", &tensor, {});
    };
    EXPECT_EQ(found([](ModelProto&) {}), "");
    for (const char* type : {"GlobalAveragePool", "GlobalMaxPool", "InstanceNormalization", "GroupNormalization"})
        EXPECT_EQ(with_node(type, nullptr, {}), "'/gate' (" + std::string(type) + ")");
    EXPECT_EQ(with_node("ReduceMax", nullptr, {}), "'/gate' (ReduceMax)") << "of all axes";
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{2, 3}, {-1, -2}, {1, 2, 3}}) {
        EXPECT_EQ(with_node("ReduceMean", nullptr, axes), "'/gate' (ReduceMean)");
        for (const bool is_raw : {false, true}) EXPECT_EQ(over(axes, is_raw), "'/gate' (ReduceMean)");
    }
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{1}, {-1}, {1, 2}, {3}}) {
        EXPECT_EQ(with_node("ReduceMean", nullptr, axes), "") << "normalises layers, or sees rows alone";
        EXPECT_EQ(over(axes, true), "");
    }
    const auto branch = [](NodeProto& node) { return attribute_of(node, "then_branch").mutable_g()->add_node(); };
    EXPECT_EQ(
        found([&](ModelProto& model) { branch(*model.mutable_graph()->add_node())->set_op_type("GlobalLpPool"); }),
        "GlobalLpPool");
    EXPECT_EQ(found([](ModelProto& model) { model.add_functions()->add_node()->set_op_type("GlobalMaxPool"); }),
              "GlobalMaxPool");
}

TEST_F(Onnx, ThatEndsInCapitalsHasTheDigestOfAllItsFiles) {
    ModelProto model = exported(test::weights_of(test::seen_graph(), 3));
    move_out(tensor_of(model, "low.weight"), file().parent_path() / "data", "data");
    write_whole(file(), model.SerializeAsString());
    const std::filesystem::path loud = file().parent_path() / "NETWORK.ONNX";
    std::filesystem::copy_file(file(), loud);
    EXPECT_EQ(files_of_network(loud).size(), 2U);
    EXPECT_EQ(digest_of_network(loud), digest_of_network(file()));
}

TEST_F(Onnx, MayHoldMostOfItsWeightsInAnotherFile) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 3, .width = 256}, 5);
    ModelProto model = exported(weights);
    move_out(tensor_of(model, "conv_list.0.weight"), file().parent_path() / "data", "data");
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DncnnShape>())), weights.sha256);
    EXPECT_LT(std::filesystem::file_size(file()) * 8, size_t{256} * 256 * 9) << "values that the file has no room for";
}

/// "3 none, 1 input" of the cards that a model may have.
std::string candidates_text(const std::filesystem::path& file) {
    std::string text;
    for (const network::NetworkCard& card : candidates_in_onnx(file))
        text += (text.empty() ? "" : ", ") + std::to_string(card.channels) + " " + std::string(name_of(card.sigma));
    return text;
}

TEST_F(Onnx, InputsAndOutputsSayWhatAModelMayTake) {
    const auto channels_of = [](onnx::ValueInfoProto& value) {
        return value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(1);
    };
    ModelProto model = exported(make_seeded_weights(kSmallDncnn, 3));
    const auto candidates = [&] {
        write_whole(file(), model.SerializeAsString());
        return candidates_text(file());
    };
    onnx::GraphProto& graph = *model.mutable_graph();
    EXPECT_EQ(candidates(), "3 none");
    channels_of(*graph.mutable_input(0))->set_dim_value(4);
    EXPECT_EQ(candidates(), "3 channel");
    channels_of(*graph.mutable_output(0))->set_dim_value(1);
    EXPECT_THAT(usage_error(candidates),
                AllOf(HasSubstr("takes 4 channels and gives 1 channel: "), HasSubstr("network.onnx")));
    channels_of(*graph.mutable_input(0))->set_dim_param("any");
    EXPECT_EQ(candidates(), "1 none, 1 channel");
    channels_of(*graph.mutable_output(0))->set_dim_param("any");
    EXPECT_EQ(candidates(), "3 none, 3 channel, 1 none, 1 channel");
    *graph.add_input() = graph.output(0);
    graph.mutable_input(1)->set_name("sigma");
    EXPECT_EQ(candidates(), "3 input, 1 input");
    channels_of(*graph.mutable_input(0))->set_dim_value(1);
    channels_of(*graph.mutable_output(0))->set_dim_value(3);
    EXPECT_THAT(usage_error(candidates), AllOf(HasSubstr("takes 1 channel and gives 3 channels"),
                                               HasSubstr("of two inputs the image is the first one")));
    channels_of(*graph.mutable_input(0))->set_dim_param("any");
    channels_of(*graph.mutable_output(0))->set_dim_param("any");
    graph.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(TensorProto::DOUBLE);
    EXPECT_THAT(usage_error(candidates), HasSubstr("second input 'sigma' is not float32"));
    *graph.add_input() = graph.output(0);
    graph.mutable_input(2)->set_name("more");
    EXPECT_THAT(usage_error(candidates), HasSubstr("a model of 3 inputs"));
    graph.mutable_input()->DeleteSubrange(1, 2);
    EXPECT_EQ(candidates(), "3 none, 3 channel, 1 none, 1 channel");
    auto& shape = *graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.mutable_dim(2)->set_dim_value(64);
    EXPECT_THAT(usage_error(candidates), HasSubstr("has a fixed size (64 x any)"));
    shape.mutable_dim(2)->set_dim_param("height");
    for (const int64_t width : {1, 4, 5}) {
        shape.mutable_dim(3)->set_dim_value(width);
        EXPECT_THAT(usage_error(candidates), HasSubstr(width == 5 ? "has a fixed size (any x 5)" : "in its last axis"));
    }
    shape.mutable_dim(3)->set_dim_param("width");
    *graph.add_output() = graph.output(0);
    EXPECT_THAT(usage_error(candidates), HasSubstr("a model of 2 outputs"));
    graph.mutable_output()->RemoveLast();
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()->RemoveLast();
    EXPECT_THAT(usage_error(candidates), HasSubstr("has 3 axes"));
}

TEST_F(Onnx, ACustomNetworkSaysTheNoiseOfItsTraining) {
    ModelProto model = exported(test::weights_of(test::seen_graph(), 3));
    auto& entry = *model.add_metadata_props();
    entry.set_key("sigma_train");
    for (const auto& [text, level] : std::map<std::string, double>{{"0.1", 0.1}, {"nan", 0}, {"-1", 0}}) {
        entry.set_value(text);
        write_whole(file(), model.SerializeAsString());
        const network::NetworkCard card = *layers_in(file()).card;
        if (level > 0)
            EXPECT_EQ(custom_network(file(), card).trained_sigma, level);
        else
            EXPECT_THAT(usage_error([&] { (void)custom_network(file(), card); }), HasSubstr("is no noise level"));
    }
}

TEST_F(Onnx, ReadsWeightsOfOtherTypes) {
    const Weights weights = make_seeded_weights(kSmallDncnn, 5);
    ModelProto model = exported(weights);
    TensorProto& bias = tensor_of(model, "in_conv.bias");
    bias.clear_raw_data();
    bias.set_data_type(TensorProto::FLOAT16);
    for (const int bits : {0x3C00, 0xC000, 0x3800, 0x0001}) bias.add_int32_data(bits);
    EXPECT_THAT(load(model, network::kind_of<network::DncnnShape>()).convolution("in_conv").bias,
                testing::ElementsAre(1, -2, 0.5F, 0x1p-24F));
    bias.clear_int32_data();
    bias.set_data_type(TensorProto::DOUBLE);
    for (const double value : {0.25, 0.5, 1e-3, -3.0}) bias.add_double_data(value);
    EXPECT_THAT(load(model, network::kind_of<network::DncnnShape>()).convolution("in_conv").bias,
                testing::ElementsAre(0.25F, 0.5F, 1e-3F, -3));
    bias.clear_double_data();
    bias.set_data_type(TensorProto::BFLOAT16);
    bias.set_raw_data(std::string("\x80\x3f\x00\x40\x80\xbf\x00\x00", 8));
    EXPECT_THAT(load(model, network::kind_of<network::DncnnShape>()).convolution("in_conv").bias,
                testing::ElementsAre(1, 2, -1, 0));
}

TEST_F(Onnx, TakesEachWayToRepeatSamples) {
    const auto resized = [&](const std::string& places, const std::string& rounding) {
        return refusal(kSmallUnet, [&](ModelProto& model) {
            attribute_of(node_of(model, "Resize"), "coordinate_transformation_mode").set_s(places);
            attribute_of(node_of(model, "Resize"), "nearest_mode").set_s(rounding);
        });
    };
    EXPECT_EQ(resized("half_pixel", "round_prefer_floor"), kNotThrown);
    EXPECT_EQ(resized("pytorch_half_pixel", "round_prefer_ceil"), kNotThrown);
    EXPECT_EQ(resized("asymmetric", "round_prefer_floor"), kNotThrown);
    const auto idle = [](ModelProto& model) {  // what plays no part where samples are repeated
        for (const char* name : {"cubic_coeff_a", "extrapolation_value"}) {
            attribute_of(node_of(model, "Resize"), name).set_type(onnx::AttributeProto::FLOAT);
            attribute_of(node_of(model, "Resize"), name).set_f(-0.75F);
        }
        attribute_of(node_of(model, "Resize"), "exclude_outside").set_i(1);
        attribute_of(node_of(model, "Resize"), "keep_aspect_ratio_policy").set_s("stretch");
    };
    EXPECT_EQ(refusal(kSmallUnet, idle), kNotThrown);
    for (const auto& [places, rounding] :
         std::vector<std::pair<std::string, std::string>>{{"half_pixel", "floor"},
                                                          {"asymmetric", "ceil"},
                                                          {"asymmetric", "round_prefer_ceil"},
                                                          {"align_corners", "floor"}})
        EXPECT_THAT(resized(places, rounding), HasSubstr("only one that repeats each sample")) << places << rounding;
}

struct Change {
    std::string says;
    network::NetworkShape shape;
    std::function<void(ModelProto&)> make;
};

void set_integers(NodeProto& node, const std::string& name, std::initializer_list<int64_t> values) {
    auto& attribute = attribute_of(node, name);
    attribute.set_type(onnx::AttributeProto::INTS);
    attribute.clear_ints();
    for (const int64_t value : values) attribute.add_ints(value);
}

/// Batch norm that makes the map of `convolution`, which gets another name.
NodeProto norm_behind(ModelProto& model, NodeProto& convolution) {
    NodeProto norm = make_norm(model, "before_norm");
    norm.add_output(convolution.output(0));
    convolution.set_output(0, "before_norm");
    return norm;
}

std::vector<Change> changes() {
    return {
        {"pads", kSmallDncnn,
         [](ModelProto& m) {
             set_integers(node_of(m, "Conv"), "pads", {0, 0, 0, 0});
         }},
        {"pads", kSmallDncnn,
         [](ModelProto& m) {
             set_integers(node_of(m, "Conv"), "pads", {1, 1, 1, 0});
         }},
        {"dilations", kSmallDncnn,
         [](ModelProto& m) {
             set_integers(node_of(m, "Conv"), "dilations", {2, 2});
         }},
        {"strides", kSmallDncnn,
         [](ModelProto& m) {
             set_integers(node_of(m, "Conv"), "strides", {1, 2});
         }},
        {"kernel_shape", kSmallDncnn,
         [](ModelProto& m) {
             set_integers(node_of(m, "Conv"), "kernel_shape", {5, 5});
         }},
        {"group", kSmallDncnn, [](ModelProto& m) { attribute_of(node_of(m, "Conv"), "group").set_i(3); }},
        {"auto_pad", kSmallDncnn,
         [](ModelProto& m) { attribute_of(node_of(m, "Conv"), "auto_pad").set_s("SAME_UPPER"); }},
        {"output_padding", kSmallDrunet,
         [](ModelProto& m) {
             set_integers(node_of(m, "ConvTranspose"), "output_padding", {1, 1});
         }},
        {"known here: 'alpha'", kSmallDncnn, [](ModelProto& m) { attribute_of(node_of(m, "Relu"), "alpha").set_f(1); }},
        {"an operator that is not known", kSmallDncnn,
         [](ModelProto& m) { node_of(m, "Relu").set_op_type("LeakyRelu"); }},
        {"of the domain 'my'", kSmallDncnn, [](ModelProto& m) { node_of(m, "Relu").set_domain("my"); }},
        {"its weights are empty", kSmallDncnn,
         [](ModelProto& m) {
             set_tensor(m, "in_conv.weight", {0, 3, 3, 3});
         }},
        {"more than the file can need", network::DncnnShape{.depth = 3, .width = 32},
         [](ModelProto& m) {
             NodeProto idle = node_of(m, "Conv", 1);
             for (int i = 0; i < 4000; ++i) {
                 idle.set_output(0, "idle" + std::to_string(i));
                 *m.mutable_graph()->add_node() = idle;
             }
         }},
        {"no square kernels", kSmallDncnn,
         [](ModelProto& m) {
             set_tensor(m, "in_conv.weight", {4, 3, 3, 1});
         }},
        {"more than one output", kSmallDncnn,
         [](ModelProto& m) {
             insert(m, 3, norm_behind(m, node_of(m, "Conv", 1)));
             node_of(m, "BatchNormalization").add_output("mean_of_batch");
         }},
        {"a part that has not one value", kSmallDncnn,
         [](ModelProto& m) {
             insert(m, 3, norm_behind(m, node_of(m, "Conv", 1)));
             set_tensor(m, "var", {3});
         }},
        {"follows a transposed convolution", kSmallDrunet,
         [](ModelProto& m) {
             NodeProto& convolution = node_of(m, "ConvTranspose");
             const NodeProto norm = norm_behind(m, convolution);
             const auto& nodes = m.graph().node();
             int place = 0;
             while (nodes[place].op_type() != "ConvTranspose") ++place;
             insert(m, place + 1, norm);
         }},
        {"'antialias' 1", kSmallUnet, [](ModelProto& m) { attribute_of(node_of(m, "Resize"), "antialias").set_i(1); }},
        {"ceil_mode", kSmallUnet, [](ModelProto& m) { attribute_of(node_of(m, "MaxPool"), "ceil_mode").set_i(1); }},
        {"only 2x2", kSmallUnet,
         [](ModelProto& m) {
             set_integers(node_of(m, "MaxPool"), "strides", {1, 1});
         }},
        {"axis", kSmallUnet, [](ModelProto& m) { attribute_of(node_of(m, "Concat"), "axis").set_i(2); }},
        {"repeats each sample", kSmallUnet,
         [](ModelProto& m) { attribute_of(node_of(m, "Resize"), "mode").set_s("linear"); }},
        {"scales other than", kSmallUnet,
         [](ModelProto& m) {
             set_floats(tensor_of(m, "doubling"), {1, 1, 2, 3});
         }},
        {"'in_conv.bias'", kSmallDncnn, [](ModelProto& m) { tensor_of(m, "in_conv.bias").set_name("other"); }},
        {"bias has not one value", kSmallDncnn, [](ModelProto& m) { set_tensor(m, "in_conv.bias", {3}); }},
        {"takes 5 channels and gets 4", kSmallDncnn,
         [](ModelProto& m) {
             set_tensor(m, "out_conv.weight", {3, 5, 3, 3});
         }},
        {"element 1 is not a finite number", kSmallDncnn,
         [](ModelProto& m) {
             set_floats(tensor_of(m, "in_conv.bias"), {1, std::numeric_limits<float>::infinity(), 0, 0});
         }},
        {"has 4 values, and its shape asks for 9", kSmallDncnn,
         [](ModelProto& m) { tensor_of(m, "in_conv.bias").set_dims(0, 9); }},
        {"has 4 values, and its shape asks for 3", kSmallDncnn,
         [](ModelProto& m) { tensor_of(m, "in_conv.bias").set_dims(0, 3); }},
        {"no whole elements", kSmallDncnn,
         [](ModelProto& m) { tensor_of(m, "in_conv.bias").mutable_raw_data()->push_back('x'); }},
        {"its shape is not one", kSmallDncnn, [](ModelProto& m) { tensor_of(m, "in_conv.bias").set_dims(0, -4); }},
        {"'pads' twice", kSmallDncnn,
         [](ModelProto& m) {
             NodeProto& node = node_of(m, "Conv");
             const onnx::AttributeProto pads = attribute_of(node, "pads");
             *node.add_attribute() = pads;
         }},
        {"in another file", kSmallDncnn,
         [](ModelProto& m) { tensor_of(m, "in_conv.bias").set_data_location(TensorProto::EXTERNAL); }},
        {"is there twice", kSmallDncnn,
         [](ModelProto& m) {
             const TensorProto copy = tensor_of(m, "in_conv.bias");
             *m.mutable_graph()->add_initializer() = copy;
         }},
        {"two nodes make", kSmallDncnn, [](ModelProto& m) { node_of(m, "Relu", 1).set_output(0, "in_conv"); }},
        {"no map that was computed before", kSmallDncnn,
         [](ModelProto& m) { node_of(m, "Relu").set_input(0, "later"); }},
        {"a model of 2 inputs", kSmallDncnn,
         [](ModelProto& m) {
             *m.mutable_graph()->add_input() = m.graph().input(0);
             m.mutable_graph()->mutable_input(1)->set_name("sigma");
         }},
        {"a model of 2 outputs", kSmallDncnn,
         [](ModelProto& m) { *m.mutable_graph()->add_output() = m.graph().output(0); }},
        {"a fixed number of channels", kSmallDncnn,
         [](ModelProto& m) {
             auto& shape = *m.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
             shape.mutable_dim(1)->set_dim_param("c");
         }},
        {"opset 9", kSmallDncnn, [](ModelProto& m) { m.mutable_opset_import(0)->set_version(9); }},
        {"opset 23", kSmallDncnn, [](ModelProto& m) { m.mutable_opset_import(0)->set_version(23); }},
        {"names no opset", kSmallDncnn, [](ModelProto& m) { m.mutable_opset_import(0)->set_domain("org.example"); }},
    };
}

TEST_F(Onnx, RefusesWhatItWouldComputeOtherwise) {
    for (const auto& [says, shape, make] : changes())
        EXPECT_THAT(refusal(shape, make), AllOf(HasSubstr("network.onnx"), HasSubstr(says)));
}

/// Leaves the node out: who reads its map gets its first operand.
void bypass(ModelProto& model, NodeProto& node) {
    const std::string output = node.output(0), input = node.input(0);
    for (NodeProto& reader : *model.mutable_graph()->mutable_node())
        for (std::string& name : *reader.mutable_input())
            if (name == output) name = input;
}

TEST_F(Onnx, RefusesNetworksThatAreNoneOfThese) {
    const std::string resembles = "It resembles ";
    EXPECT_THAT(refusal(kSmallDncnn, [](ModelProto& m) { bypass(m, node_of(m, "Relu", 1)); }),
                AllOf(HasSubstr(resembles + "dncnn"), HasSubstr("where operation")));
    EXPECT_THAT(refusal(kSmallDncnn, [](ModelProto& m) { node_of(m, "Add").set_input(1, "output"); }),
                HasSubstr("network.onnx"));
    EXPECT_THAT(refusal(kSmallDrunet, [](ModelProto& m) { bypass(m, node_of(m, "Add", 0)); }),
                HasSubstr(resembles + "drunet"));
    // The skip to the last convolution from another map of the same shape, made by a second m_head of other weights.
    EXPECT_THAT(refusal(kSmallDrunet,
                        [](ModelProto& m) {
                            auto& nodes = *m.mutable_graph()->mutable_node();
                            m.mutable_graph()->add_initializer()->set_name("other.weight");
                            tensor_of(m, "other.weight").set_data_type(TensorProto::FLOAT);
                            set_tensor(m, "other.weight", {4, 4, 3, 3});
                            NodeProto other = node_of(m, "Conv");
                            other.set_input(1, "other.weight");
                            other.set_output(0, "other");
                            *nodes.Add() = other;
                            for (int i = nodes.size() - 1; i > 0; --i) nodes.SwapElements(i, i - 1);
                            for (std::string& name : *node_of(m, "Add", 4).mutable_input())
                                if (name == "m_head") name = "other";
                        }),
                AllOf(HasSubstr(resembles + "drunet"), HasSubstr("where operation 1 (convolution 'm_head')")));
    EXPECT_THAT(refusal(kSmallUnet, [](ModelProto& m) { node_of(m, "Concat").mutable_input()->SwapElements(0, 1); }),
                HasSubstr(resembles + "unet"));
    EXPECT_THAT(refusal(kSmallDncnn, [](ModelProto& m) { node_of(m, "Add").set_op_type("Sub"); }),
                HasSubstr(resembles));
    // A kernel of another edge, whose weights are fewer.
    EXPECT_THAT(refusal(kSmallDncnn,
                        [](ModelProto& m) {
                            set_tensor(m, "conv_list.0.weight", {4, 4, 1, 1});
                            set_integers(node_of(m, "Conv", 1), "kernel_shape", {1, 1});
                            set_integers(node_of(m, "Conv", 1), "pads", {0, 0, 0, 0});
                        }),
                AllOf(HasSubstr(resembles + "dncnn"), HasSubstr("where operation 3 (convolution 'conv_list.0')")));
    // Other widths than the first one tells, and a bias that the network does not have.
    EXPECT_THAT(refusal(kSmallDncnn,
                        [](ModelProto& m) {
                            set_tensor(m, "conv_list.0.weight", {5, 4, 3, 3});
                            set_tensor(m, "conv_list.0.bias", {5});
                            set_tensor(m, "out_conv.weight", {3, 5, 3, 3});
                        }),
                HasSubstr("has operation 4 (relu) of 5 channels at scale 1 where operation 4 (relu) of 4 channels"));
    EXPECT_THAT(refusal(kSmallDrunet,
                        [](ModelProto& m) {
                            m.mutable_graph()->add_initializer()->set_name("bias");
                            tensor_of(m, "bias").set_data_type(TensorProto::FLOAT);
                            tensor_of(m, "bias").add_dims(4);
                            set_floats(tensor_of(m, "bias"), {1, 1, 1, 1});
                            node_of(m, "Conv").add_input("bias");
                        }),
                HasSubstr(resembles + "drunet"));
    EXPECT_THAT(usage_error([&] {
                    (void)load(exported(make_seeded_weights(kSmallUnet, 1)), network::kind_of<network::DncnnShape>());
                }),
                HasSubstr("weights of unet, not of dncnn"));
    EXPECT_THAT(refusal(kSmallDncnn,
                        [](ModelProto& m) {
                            m.mutable_graph()->clear_node();
                            *m.mutable_graph()->add_node() = make_node("Relu", "input", m.graph().output(0).name());
                        }),
                AllOf(HasSubstr("network.onnx"), HasSubstr("without convolutions")));
}

/// In safetensors that byte begins the header; what is before it, a length, tells them apart.
TEST_F(Onnx, MayHaveABraceForItsNinthByte) {
    const Weights weights = make_seeded_weights(network::DncnnShape{.depth = 20}, 2);
    ModelProto model = exported(weights);
    model.clear_producer_name();
    NodeProto& first = *model.mutable_graph()->mutable_node(0);
    while (first.ByteSizeLong() < '{') first.mutable_name()->push_back('x');
    ASSERT_EQ(model.SerializeAsString()[8], '{');
    EXPECT_EQ(sha256_of_values(load(model, network::kind_of<network::DncnnShape>())), sha256_of_values(weights));
}

TEST_F(Onnx, RefusesDamagedFiles) {
    save_onnx(make_seeded_weights(kSmallDncnn, 1), file());
    std::stringstream whole;
    whole << std::ifstream(file(), std::ios::binary).rdbuf();
    const std::string bytes = whole.str();
    for (size_t length = 3; length < bytes.size(); length += 41) {
        write_whole(file(), bytes.substr(0, length));
        EXPECT_THAT(usage_error([&] { (void)load_weights(file(), network::kind_of<network::DncnnShape>()); }),
                    HasSubstr("network.onnx"))
            << length;
    }
    ModelProto empty;
    empty.set_ir_version(8);
    empty.set_producer_name("test");
    EXPECT_THAT(usage_error([&] { (void)load(empty, network::kind_of<network::DncnnShape>()); }),
                HasSubstr("is none: damaged or cut off"));
}

}  // namespace
}  // namespace pb::engine
