// All kernels for one instruction set. These files have no `#pragma once`: Highway includes them for each one, in a
// namespace and with compiler options of its own.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
// Each needs those above it.
// clang-format off
#include "engine/native/vectors.inl"
#include "engine/native/micro_kernel.inl"
#include "engine/native/winograd_transform.inl"
#include "engine/native/winograd.inl"
#include "engine/native/direct.inl"
#include "engine/native/narrow.inl"
#include "engine/native/pixelwise.inl"
HWY_AFTER_NAMESPACE();
#include "engine/native/bf16.inl"  // with an instruction set of its own
HWY_BEFORE_NAMESPACE();
// clang-format on

namespace pb::engine::native::HWY_NAMESPACE {
namespace {

// Winograd's method in bf16, where the processor can multiply it.
#if HWY_TARGET == HWY_AVX3
struct Bf16Operands {
    static constexpr int kTile = network::kSmallWinogradTile;
    using Kernel = Bf16Product;
    static void transform(const PatchPlace& place, int64_t channels) { transform_pairs(place, channels); }
};

Kernels::Winograd find_winograd_bf16() {
    return __builtin_cpu_supports("avx512bf16") ? &run_blocks<Bf16Operands> : nullptr;
}
#else
constexpr Kernels::Winograd find_winograd_bf16() { return nullptr; }
#endif

}  // namespace

Kernels kernels_of_target() {
    return {&winograd, find_winograd_bf16(), &direct, &narrow, &pixelwise, &max_pool, kRows};
}

}  // namespace pb::engine::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
