#include "base/engine_support.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace pb {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string refusal(EngineKind engine, Precision precision, DeviceKind kind = DeviceKind::cpu) {
    return precision_refusal(engine, std::string(name_of(engine)), kind, precision);
}

TEST(EnginePrecision, EveryEngineComputesInFp32OnTheCpu) {
    for (const auto& [engine, name] : enum_table<EngineKind>())
        EXPECT_THAT(refusal(engine, Precision::fp32), IsEmpty()) << name;
}

TEST(EnginePrecision, EnginesThatAreForTheCpuAloneAreRefusedOnCuda) {
    for (const auto& [engine, name] : enum_table<EngineKind>()) {
        const bool is_for_cpu = engine == EngineKind::native || engine == EngineKind::reference ||
                                engine == EngineKind::timed || engine == EngineKind::openvino;
        EXPECT_EQ(refusal(engine, Precision::fp32, DeviceKind::cuda).empty(), !is_for_cpu) << name;
    }
    for (const auto& [precision, name] : enum_table<Precision>())
        EXPECT_THAT(refusal(EngineKind::torch, precision, DeviceKind::cuda), IsEmpty()) << name;
}

TEST(EnginePrecision, Bf16IsRefusedWithTheWayOut) {
    EXPECT_EQ(engines_text(Precision::bf16), "torch, native, openvino, pytorch, tensorflow, jax");
    for (const EngineKind engine : {EngineKind::reference, EngineKind::onnxruntime})
        EXPECT_THAT(refusal(engine, Precision::bf16),
                    AllOf(HasSubstr("dtype = bf16: engine " + std::string(name_of(engine)) + " computes in fp32 only"),
                          HasSubstr("choose dtype: fp32, or one of the engines torch, native")));
    for (const EngineKind engine :
         {EngineKind::native, EngineKind::openvino, EngineKind::pytorch, EngineKind::python, EngineKind::timed})
        EXPECT_THAT(refusal(engine, Precision::bf16), IsEmpty());
    EXPECT_THAT(native_bf16_refusal("on rank 3"),
                AllOf(HasSubstr("AVX512-BF16"), HasSubstr("on rank 3"), HasSubstr("engine: torch")));
}

TEST(EnginePrecision, NativeTakesWindowsInFp32AndOthersInThePrecision) {
    for (const auto& [engine, name] : enum_table<EngineKind>())
        EXPECT_EQ(storage_of(engine, Precision::bf16), engine == EngineKind::native ? DType::f32 : DType::bf16) << name;
    EXPECT_EQ(storage_of(EngineKind::torch, Precision::fp16), DType::f16);
    EXPECT_EQ(storage_of(EngineKind::torch, Precision::tf32), DType::f32);
}

TEST(EnginePrecision, WhatNeedsADeviceSaysSo) {
    for (const Precision precision : {Precision::tf32, Precision::fp16}) {
        EXPECT_THAT(refusal(EngineKind::torch, precision),
                    AllOf(HasSubstr("needs a CUDA device"), HasSubstr("choose fp32 or bf16")));
        EXPECT_THAT(refusal(EngineKind::openvino, precision), HasSubstr("computes in fp32 and bf16 only"));
        EXPECT_THAT(refusal(EngineKind::jax, Precision::tf32), HasSubstr("needs a CUDA device"));
    }
}

/// The last cell of the row of `engine` in the table of docs/engines.md.
std::string documented(std::string_view engine) {
    std::ifstream page(std::string(PATCHBENCH_SOURCE_DIR) + "/docs/engines.md");
    const std::string name = "`" + std::string(engine) + "`", user = "`" + std::string(engine) + ":my_engine.py`";
    for (std::string line; std::getline(page, line);) {
        const std::string first = line.substr(0, line.find(" | "));
        if (!line.starts_with("| `")) continue;
        if (first.find(name) == std::string::npos && first.find(user) == std::string::npos) continue;
        const size_t begin = line.rfind(" | ") + 3;
        return line.substr(begin, line.rfind(" |") - begin);
    }
    return "no row";
}

/// "fp32, bf16"
std::string precisions_of(EngineKind engine, DeviceKind kind) {
    std::string text;
    for (const auto& [precision, name] : enum_table<Precision>())
        if (computes_in(engine, kind, precision)) text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

TEST(EnginePrecision, ThePageHoldsTheTable) {
    for (const auto& [engine, name] : enum_table<EngineKind>()) {
        const std::string cpu = precisions_of(engine, DeviceKind::cpu), cuda = precisions_of(engine, DeviceKind::cuda);
        EXPECT_THAT(documented(name), StartsWith("CPU: " + cpu + (cuda.empty() ? "" : "; CUDA: " + cuda))) << name;
    }
}

}  // namespace
}  // namespace pb
