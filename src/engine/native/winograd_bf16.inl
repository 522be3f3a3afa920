// Winograd's method in bf16, where the processor can multiply it.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

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
}  // namespace pb::engine::native::HWY_NAMESPACE
