#include "base/engine_support.hpp"

#include "base/network_format.hpp"
#include "base/text.hpp"

#include <fmt/format.h>

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

struct Row {
    EngineKind engine;
    std::span<const Precision> cpu, cuda;
};

constexpr std::array kFp32{Precision::fp32};
constexpr std::array kFp32AndBf16{Precision::fp32, Precision::bf16};
constexpr std::array kFp32AndTf32{Precision::fp32, Precision::tf32};
constexpr std::array kNotFp16{Precision::fp32, Precision::tf32, Precision::bf16};
constexpr std::array kAll{Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16};

// ONNX Runtime's kernels for the CPU have no bf16. The engine reference computes in fp64 on fp32 samples.
constexpr std::array kRows{Row{EngineKind::torch, kFp32AndBf16, kAll},
                           Row{EngineKind::native, kFp32AndBf16, {}},
                           Row{EngineKind::reference, kFp32, {}},
                           Row{EngineKind::timed, kAll, {}},
                           Row{EngineKind::onnxruntime, kFp32, kFp32AndTf32},
                           Row{EngineKind::openvino, kFp32AndBf16, {}},
                           Row{EngineKind::pytorch, kFp32AndBf16, kNotFp16},
                           Row{EngineKind::tensorflow, kFp32AndBf16, kNotFp16},
                           Row{EngineKind::jax, kFp32AndBf16, kNotFp16},
                           Row{EngineKind::python, kFp32AndBf16, kNotFp16}};
static_assert(kRows.size() == enum_table<EngineKind>().size(), "an engine without a row computes nowhere");

std::span<const Precision> precisions_of(EngineKind engine, DeviceKind kind) {
    const auto row = std::ranges::find(kRows, engine, &Row::engine);
    if (row == kRows.end()) return {};
    return kind == DeviceKind::cuda ? row->cuda : row->cpu;
}

std::string joined(std::span<const Precision> precisions, const std::string& separator) {
    std::string text;
    for (const Precision precision : precisions) add_item(text, name_of(precision), separator);
    return text;
}

}  // namespace

std::span<const EngineKind> engines_of_file(const std::string& file, Layers layers) {
    if (layers == Layers::known) return kForLayers;
    const auto format = network_format(file);
    if (format == NetworkFormat::onnx) return kForOnnx;
    if (format == NetworkFormat::torchscript || format == NetworkFormat::torch_package) return kForTorch;
    return kForPython;
}

bool runs_file(EngineKind engine, const std::string& file, Layers layers) {
    const auto engines = engines_of_file(file, layers);
    return engine == EngineKind::python || std::ranges::find(engines, engine) != engines.end();
}

std::string engines_of_file_text(const std::string& file, Layers layers) {
    std::string text;
    for (const EngineKind engine : engines_of_file(file, layers)) add_item(text, name_of(engine));
    return text + " or python:FILE";
}

bool computes_in(EngineKind engine, DeviceKind kind, Precision precision) {
    const auto known = precisions_of(engine, kind);
    return std::ranges::find(known, precision) != known.end();
}

std::string precision_refusal(EngineKind engine, const std::string& name, DeviceKind kind, Precision precision) {
    const auto known = precisions_of(engine, kind);
    if (known.empty()) return fmt::format("engine = {}: computes on the CPU only; choose device: cpu", name);
    if (computes_in(engine, kind, precision)) return {};
    const std::string dtype = fmt::format("dtype = {}: ", name_of(precision));
    if (computes_in(engine, DeviceKind::cuda, precision))
        return dtype + "needs a CUDA device; on the CPU choose " + joined(known, " or ");
    const std::string others = engines_text(precision);
    return dtype + fmt::format("engine {} computes in {} only; choose dtype: {}{}", name, joined(known, " and "),
                               joined(known, " or "), others.empty() ? "" : ", or one of the engines " + others);
}

std::string native_bf16_refusal(const std::string& where) {
    return fmt::format(
        "dtype = bf16: engine native needs a processor with AVX512-BF16, which is not there {}; choose dtype: fp32, or "
        "engine: torch",
        where);
}

DType storage_of(EngineKind engine, Precision precision) {
    return engine == EngineKind::native ? DType::f32 : storage_of(precision);
}

std::string engines_text(Precision precision) {
    std::string text;
    for (const auto& [engine, name] : enum_table<EngineKind>()) {
        if (engine == EngineKind::timed || engine == EngineKind::python) continue;
        if (computes_in(engine, DeviceKind::cpu, precision)) add_item(text, name);
    }
    return text;
}

}  // namespace pb
