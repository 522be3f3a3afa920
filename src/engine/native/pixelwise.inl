// Sums, differences, ReLU, and the largest of 2x2 pixels.
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

/// `vector_of` and `value_of` are the same operation on vectors and, for the rest of the range, on single values.
template <class VectorOf, class ValueOf>
HWY_INLINE void for_values(Range values, float* out, VectorOf vector_of, ValueOf value_of) {
    int64_t i = values.begin;
    for (; i + kLanes <= values.end; i += kLanes) store(vector_of(i), out + i);
    for (; i < values.end; ++i) out[i] = value_of(i);
}

void pixelwise(const PixelwiseCall& call, Range values) {
    const float *a = call.a, *b = call.b;
    if (call.kind == network::OperationKind::add)
        for_values(
            values, call.out, [=](int64_t i) HWY_ATTR { return load(a + i) + load(b + i); },
            [=](int64_t i) { return a[i] + b[i]; });
    else if (call.kind == network::OperationKind::subtract)
        for_values(
            values, call.out, [=](int64_t i) HWY_ATTR { return load(a + i) - load(b + i); },
            [=](int64_t i) { return a[i] - b[i]; });
    else
        for_values(
            values, call.out, [=](int64_t i) HWY_ATTR { return positive(load(a + i)); },
            [=](int64_t i) { return a[i] < 0 ? 0 : a[i]; });
}

void max_pool(const MaxPoolCall& call) {
    const int64_t channels = call.channels;
    for (int64_t x = 0; x < call.out_w; ++x) {
        const float *above = call.above + 2 * x * channels, *below = call.below + 2 * x * channels;
        for_values(
            {0, channels}, call.out + x * channels,
            [=](int64_t c) HWY_ATTR {
                return hn::Max(hn::Max(load(above + c), load(above + channels + c)),
                               hn::Max(load(below + c), load(below + channels + c)));
            },
            [=](int64_t c) { return std::max({above[c], above[channels + c], below[c], below[channels + c]}); });
    }
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
