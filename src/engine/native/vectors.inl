// The vector type of this instruction set and what all kernels do with it.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, network::kNativeLanes>;
using Vector = hn::VFromD<Lanes>;
constexpr Lanes kLanesTag;
constexpr int64_t kLanes = hn::MaxLanes(kLanesTag);

HWY_INLINE Vector load(const float* values) { return hn::LoadU(kLanesTag, values); }
HWY_INLINE void store(Vector value, float* values) { hn::StoreU(value, kLanesTag, values); }
HWY_INLINE Vector all(float value) { return hn::Set(kLanesTag, value); }
/// a * factor + b
HWY_INLINE Vector multiply_add(Vector a, float factor, Vector b) { return hn::MulAdd(a, all(factor), b); }

/// Has a line brought into the second-level cache.
HWY_INLINE void fetch(const float* line) { __builtin_prefetch(line, 0, 2); }

/// max(value, 0). In this order x86 gives NaN for NaN, as the other engines do.
HWY_INLINE Vector positive(Vector value) { return hn::Max(hn::Zero(kLanesTag), value); }

/// What follows a convolution. `summand` is null or the place of the values that are added.
HWY_INLINE Vector finished(Vector value, const float* summand, bool relu) {
    if (summand != nullptr) value = value + load(summand);
    return relu ? positive(value) : value;
}

/// finished() for the first `count` lanes only; nothing beyond them is read or written.
HWY_INLINE void put_first(Vector value, int64_t count, const float* summand, bool relu, float* out) {
    float values[kLanes];
    store(value, values);
    for (int64_t i = 0; i < count; ++i) {
        const float sum = summand == nullptr ? values[i] : values[i] + summand[i];
        out[i] = relu && sum < 0 ? 0 : sum;
    }
}

template <bool kStreams>
HWY_INLINE void put(Vector value, float* out) {
    if constexpr (kStreams)
        hn::Stream(value, kLanesTag, out);
    else
        store(value, out);
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
