#include "base/engine_files.hpp"

#include <algorithm>
#include <array>

namespace pb {

namespace {

constexpr std::array kForLayers{EngineKind::torch, EngineKind::native, EngineKind::onnxruntime, EngineKind::openvino,
                                EngineKind::reference};
constexpr std::array kForOnnx{EngineKind::onnxruntime, EngineKind::openvino};
// A package of torch.export is one for pytorch alone, which only its content shows.
constexpr std::array kForTorch{EngineKind::torch, EngineKind::pytorch};
constexpr std::array kForPython{EngineKind::pytorch};

}  // namespace

std::span<const EngineKind> engines_of_file(const std::string& file, Layers layers) {
    if (layers == Layers::known) return kForLayers;
    if (file.ends_with(".onnx")) return kForOnnx;
    return file.ends_with(".pt") || file.ends_with(".pt2") ? std::span<const EngineKind>(kForTorch) : kForPython;
}

bool runs_file(EngineKind engine, const std::string& file, Layers layers) {
    const auto engines = engines_of_file(file, layers);
    return engine == EngineKind::python || std::find(engines.begin(), engines.end(), engine) != engines.end();
}

std::string engines_of_file_text(const std::string& file, Layers layers) {
    std::string text;
    for (const EngineKind engine : engines_of_file(file, layers)) {
        if (!text.empty()) text += ", ";
        text += name_of(engine);
    }
    return text + " or python:FILE";
}

}  // namespace pb
