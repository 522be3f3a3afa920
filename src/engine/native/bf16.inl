// The parts of Winograd's method in bf16 that need AVX512-BF16, an instruction set that Highway does not know. Two
// values of bf16, of neighbouring channels, lie in each float of memory.
#if HWY_TARGET == HWY_AVX3
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
namespace pb::engine::native::HWY_NAMESPACE {
namespace {

/// Of pairs: `depth`, `a_step` and `b` count floats. Each result is one chain of additions of pairs of products, in fp32.
struct Bf16Product {
    template <int kCount, bool kPair>
    static void multiply(const Product& product);
};

template <int kCount, bool kPair>
void Bf16Product::multiply(const Product& product) {
    __m512 left[kCount], right[kCount];
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) left[i] = right[i] = _mm512_setzero_ps();
    const int64_t a_step = product.a_step;
    const float *a = product.a[0], *b = product.b;
    for (int64_t k = 0; k < product.depth; ++k, b += network::kNativePanel) {
        const auto b_left = reinterpret_cast<__m512bh>(load(b).raw);
        const auto b_right = reinterpret_cast<__m512bh>((kPair ? load(b + kLanes) : hn::Zero(kLanesTag)).raw);
#pragma GCC unroll 16
        for (int i = 0; i < kCount; ++i) {
            const auto value = reinterpret_cast<__m512bh>(all(a[i * a_step + k]).raw);
            left[i] = _mm512_dpbf16_ps(left[i], value, b_left);
            if constexpr (kPair) right[i] = _mm512_dpbf16_ps(right[i], value, b_right);
        }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kCount; ++i) {
        store(Vector{left[i]}, product.c + i * network::kNativePanel);
        if constexpr (kPair) store(Vector{right[i]}, product.c + i * network::kNativePanel + kLanes);
    }
}

/// Rounds to the nearest, ties to even.
HWY_INLINE void store_rounded(Vector value, float* out) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value.raw)));
}

/// The rows of one column of pixels, transformed.
HWY_INLINE void transform_column(const float* in, int64_t row_step, Vector* out) {
    const Vector line[4] = {load(in), load(in + row_step), load(in + 2 * row_step), load(in + 3 * row_step)};
    Transform<2>::operand(line, out);
}

/// As transform_patch() for all tiles of the run, which share columns: each column is transformed once.
void transform_pairs(PatchPlace place, int64_t channels) {
    for (int64_t begin = 0; begin < channels; begin += kLanes) {
        const int64_t c = std::min(begin, channels - kLanes);
        Vector columns[4][4], result[4];
        const float* in = place.in + c;
        float* out = place.out + c / 2;
        transform_column(in, place.row_step, columns[0]);
        transform_column(in + place.column_step, place.row_step, columns[1]);
        for (int64_t tile = 0; tile < place.num_tiles; ++tile, out += place.tile_step) {
            in += 2 * place.column_step;
            transform_column(in, place.row_step, columns[2]);
            transform_column(in + place.column_step, place.row_step, columns[3]);
#pragma GCC unroll 16
            for (int i = 0; i < 4; ++i) {
                const Vector line[4] = {columns[0][i], columns[1][i], columns[2][i], columns[3][i]};
                Transform<2>::operand(line, result);
#pragma GCC unroll 16
                for (int j = 0; j < 4; ++j) store_rounded(result[j], out + (i * 4 + j) * place.product_step);
                columns[0][i] = columns[2][i];
                columns[1][i] = columns[3][i];
            }
        }
    }
}

}  // namespace
}  // namespace pb::engine::native::HWY_NAMESPACE
HWY_POP_ATTRIBUTES
#endif
