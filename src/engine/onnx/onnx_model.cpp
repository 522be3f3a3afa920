#include "engine/onnx/onnx_model.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

namespace pb::engine {

onnx::ModelProto parse_onnx(Bytes file, const std::string& name) {
    onnx::ModelProto model;
    if (!model.ParseFromArray(file.data(), static_cast<int>(file.size())) || !model.has_graph())
        throw UsageError(name + ": begins like an ONNX model, but is none: damaged or cut off");
    return model;
}

void check_opset(const onnx::ModelProto& model, const std::string& name) {
    constexpr int64_t kOldestOpset = 11, kNewestOpset = 22;
    for (const auto& opset : model.opset_import()) {
        if (!opset.domain().empty() && opset.domain() != "ai.onnx") continue;
        if (opset.version() >= kOldestOpset && opset.version() <= kNewestOpset) return;
        throw UsageError(fmt::format("{}: opset {}: export it with one from {} to {}", name, opset.version(),
                                     kOldestOpset, kNewestOpset));
    }
    throw UsageError(name + ": names no opset of ONNX; it is damaged, or no ONNX model");
}

Metadata metadata_of(const onnx::ModelProto& model) {
    Metadata metadata;
    for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
    return metadata;
}

}  // namespace pb::engine
