// What an ONNX model takes and gives, by the declarations of its inputs and outputs: its operations are not read.
#include "engine/network_file.hpp"
#include "engine/onnx/onnx_model.hpp"
#include "network/card/find_card.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <string>

namespace pb::engine {
namespace {

constexpr int kImageAxes = 4;
constexpr int kChannelAxis = 1;
constexpr int64_t kMostChannels = 4;  // of a colour image with a noise level

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
        if (which != "input" || (height == 0 && width == 0)) return;
        if (height == 0 && width <= kMostChannels)
            fail(
                fmt::format("its input {} has {} in its last axis: an image is [batch, channels, height, width], "
                            "with the channels in front",
                            shown(value.name()), width));
        const auto text = [](int64_t extent) { return extent > 0 ? std::to_string(extent) : "any"; };
        fail(fmt::format("its input {} has a fixed size ({} x {}): export it with dynamic height and width",
                         shown(value.name()), text(height), text(width)));
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
            fail(network::channels_refusal(in, out) +
                 (has_input ? "; of two inputs the image is the first one, the noise level the second" : ""));
        return all;
    }

    const onnx::GraphProto& graph_;
    const std::string& file_;
};

}  // namespace

std::vector<network::NetworkCard> candidates_in_onnx(const std::filesystem::path& file) {
    const onnx::ModelProto model = load_onnx(file);
    const std::string name = file.string();
    return SignatureReader(model.graph(), name).read();
}

}  // namespace pb::engine
