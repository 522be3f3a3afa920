// What an ONNX model takes and gives, by the declarations of its inputs and outputs: its operations are not read.
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_model.hpp"
#include "engine/onnx/onnx_network.hpp"
#include "engine/onnx/onnx_tensors.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

namespace pb::engine {
namespace {

constexpr int kImageAxes = 4;
constexpr int kChannelAxis = 1;

class SignatureReader {
  public:
    SignatureReader(const onnx::GraphProto& graph, const std::string& file) : graph_(graph), file_(file) {}

    [[nodiscard]] std::vector<network::NetworkCard> read() const {
        const auto inputs = inputs_of(graph_);
        if (inputs.empty() || inputs.size() > 2)
            fail(fmt::format("a model of {} inputs: it must take an image and, where it needs one, a noise level",
                             inputs.size()));
        if (graph_.output_size() != 1)
            fail(fmt::format("a model of {} outputs: it must give one image", graph_.output_size()));
        check_image(*inputs.front(), "input");
        check_image(graph_.output(0), "output");
        if (inputs.size() == 2) check_type(*inputs.back(), "second input");
        return candidates(channels_of(*inputs.front()), channels_of(graph_.output(0)), inputs.size() == 2);
    }

  private:
    [[noreturn]] void fail(const std::string& reason) const { throw UsageError(file_ + ": " + reason); }

    void check_type(const onnx::ValueInfoProto& value, const std::string& which) const {
        if (value.type().tensor_type().elem_type() != onnx::TensorProto::FLOAT)
            fail(fmt::format("its {} {} is not float32: export the network in float32", which, shown(value.name())));
    }

    void check_image(const onnx::ValueInfoProto& value, const std::string& which) const {
        check_type(value, which);
        if (!value.type().tensor_type().has_shape()) return;  // trying will tell
        const auto& shape = value.type().tensor_type().shape();
        if (shape.dim_size() != kImageAxes)
            fail(fmt::format("its {} {} has {} axes: an image is [batch, channels, height, width]", which,
                             shown(value.name()), shape.dim_size()));
        const int64_t height = shape.dim(2).dim_value(), width = shape.dim(3).dim_value();
        if (which == "input" && (height > 0 || width > 0))
            fail(fmt::format("its input {} has a fixed size ({} x {}): export it with dynamic height and width",
                             shown(value.name()), height, width));
    }

    /// 0: dynamic.
    [[nodiscard]] static int64_t channels_of(const onnx::ValueInfoProto& value) {
        const auto& shape = value.type().tensor_type().shape();
        return shape.dim_size() == kImageAxes ? shape.dim(kChannelAxis).dim_value() : 0;
    }

    [[nodiscard]] std::vector<network::NetworkCard> candidates(int64_t in, int64_t out, bool has_input) const {
        using network::SigmaInput;
        std::vector<network::NetworkCard> all;
        for (const int64_t channels : {3, 1})
            for (const SigmaInput sigma : {SigmaInput::none, SigmaInput::channel, SigmaInput::input}) {
                if ((sigma == SigmaInput::input) != has_input) continue;
                const int64_t taken = channels + (sigma == SigmaInput::channel ? 1 : 0);
                if ((in == 0 || in == taken) && (out == 0 || out == channels))
                    all.push_back({.channels = channels, .sigma = sigma});
            }
        if (all.empty())
            fail(
                fmt::format("takes {} channels and gives {}: an image has 1 or 3, and one more in the input where it "
                            "is the noise level",
                            in == 0 ? "any" : std::to_string(in), out == 0 ? "any" : std::to_string(out)));
        return all;
    }

    const onnx::GraphProto& graph_;
    const std::string& file_;
};

std::vector<std::byte> read_onnx_file(const std::filesystem::path& file) {
    std::vector<std::byte> bytes = read_file(file);
    if (!is_onnx(bytes)) throw UsageError(file.string() + ": is no ONNX model: empty, damaged, or another format");
    if (bytes.size() > std::numeric_limits<int>::max())
        throw UsageError(file.string() + ": an ONNX model of more than 2 GB: keep its weights in a file beside it");
    return bytes;
}

onnx::ModelProto parse_model(const std::filesystem::path& file) {
    return parse_onnx(read_onnx_file(file), file.string());
}

/// See files_of_network. `model`: what is in `file`.
std::vector<std::filesystem::path> files_of(const onnx::ModelProto& model, const std::filesystem::path& file) {
    std::vector<std::filesystem::path> files{file};
    try {
        std::ranges::copy(external_files(model.graph(), file), std::back_inserter(files));
    } catch (const UsageError& error) {
        throw UsageError(file.string() + ": a tensor: " + error.what());
    }
    return files;
}

/// See digest_of_network.
std::string digest_of(const std::vector<std::filesystem::path>& files) {
    std::string digests;
    for (const auto& file : files) add_item(digests, sha256_of_file(file), "\n");
    return files.size() == 1 ? digests : sha256_of(std::as_bytes(std::span(digests)));
}

}  // namespace

bool is_code(const std::filesystem::path& file) {
    const std::string ending = file.extension().string();
    return ending == ".pt" || ending == ".pt2" || ending == ".py";
}

std::optional<network::NetworkKind> known_network(const std::filesystem::path& file) {
    if (file.extension() == ".pt2" || file.extension() == ".py") return std::nullopt;
    if (!is_code(file)) (void)read_onnx_file(file);
    try {
        return network_in_file(file);
    } catch (const UsageError&) {  // another network, or one that `candidates_in_onnx` refuses
        return std::nullopt;
    }
}

std::vector<network::NetworkCard> candidates_in_onnx(const std::filesystem::path& file) {
    const onnx::ModelProto model = parse_model(file);
    const std::string name = file.string();
    return SignatureReader(model.graph(), name).read();
}

std::vector<std::filesystem::path> files_of_network(const std::filesystem::path& file) {
    if (lower_case(file.extension().string()) != ".onnx") return {file};
    return files_of(parse_model(file), file);
}

std::string digest_of_network(const std::filesystem::path& file) { return digest_of(files_of_network(file)); }

Weights brought_network(const std::filesystem::path& file, const network::NetworkCard& card) {
    Weights weights;
    weights.card = card;
    weights.source = file.string();
    weights.layout = "brought: " + network::to_text(card);
    weights.trained = true;
    if (is_code(file)) {
        weights.sha256 = sha256_of_file(file);
        return weights;
    }
    const onnx::ModelProto model = parse_model(file);
    weights.sha256 = digest_of(files_of(model, file));
    take_training_noise(metadata_of(model), weights);
    if (card.layers) weights.convolutions = convolutions_in(file, *card.layers);
    return weights;
}

}  // namespace pb::engine
