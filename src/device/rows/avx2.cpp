// Compiled with -mavx2 -mfma (see CMakeLists.txt); runs only where x86.cpp found the processor able to.
// Only the loops that the compiler does not vectorise well are written out here.
#include "device/rows/loops.hpp"

#include <immintrin.h>

namespace pb::device {
namespace {

// Two RGB pixels as f32 in lanes 0-2 and 4-6; lanes 3 and 7 hold anything. They read less than three pixels.
__m256 load_two_pixels(const uint8_t* samples) {
    const __m128i spread = _mm_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(samples));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_shuffle_epi8(bytes, spread)));
}
__m256 load_two_pixels(const uint16_t* samples) {
    const __m128i spread = _mm_setr_epi8(0, 1, 2, 3, 4, 5, -1, -1, 6, 7, 8, 9, 10, 11, -1, -1);
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(samples));
    return _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(_mm_shuffle_epi8(words, spread)));
}
__m256 load_two_pixels(const float* samples) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(samples), _mm256_setr_epi32(0, 1, 2, 2, 3, 4, 5, 5));
}

// See Note [Exact division]: the head's product is exact, so a fused sum has the same bits.
template <class Sample>
__m256 divide_by_full_scale(__m256 values) {
    const __m256 tails = _mm256_mul_ps(values, _mm256_set1_ps(Reciprocal<Sample>::kTail));
    return _mm256_fmadd_ps(values, _mm256_set1_ps(Reciprocal<Sample>::kHead), tails);
}
template <>
__m256 divide_by_full_scale<float>(__m256 values) {
    return values;
}

template <class Sample>
void rgb_with_extra_channel(const Sample* samples, int64_t count, const RowScale& scale, float* network) {
    const __m256 gain = _mm256_set1_ps(scale.gain);
    const __m256 sigma = _mm256_set1_ps(scale.sigma);
    int64_t i = 0;
    for (; i + 3 <= count; i += 2) {
        const __m256 values = _mm256_mul_ps(divide_by_full_scale<Sample>(load_two_pixels(samples + i * 3)), gain);
        _mm256_storeu_ps(network + i * 4, _mm256_blend_ps(values, sigma, 0b10001000));
    }
    add_channel<3>(samples + i * 3, count - i, scale, network + i * 4);
}

template <class Sample>
void avx2_to_f32(const Sample* samples, int64_t count, int64_t channels, const RowScale& scale, float* network) {
    if (scale.extra_channel && channels == 3) return rgb_with_extra_channel(samples, count, scale, network);
    row_to_f32(samples, count, channels, scale, network);
}

/// Eight values scaled, clipped and rounded; the order of the maximum's operands sends NaN to 0.
__m256i load_rounded(const float* network, __m256 inverse_gain, __m256 full_scale) {
    const __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(network), inverse_gain), full_scale);
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(scaled, _mm256_setzero_ps()), full_scale));
}

void avx2_to_u8(const float* network, int64_t values, float inverse_gain, uint8_t* samples) {
    const __m256 inverse = _mm256_set1_ps(inverse_gain);
    const __m256 full_scale = _mm256_set1_ps(kFullScale<uint8_t>);
    const __m256i unpack_lanes = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    int64_t i = 0;
    for (; i + 32 <= values; i += 32) {
        const __m256i low = _mm256_packus_epi32(load_rounded(network + i, inverse, full_scale),
                                                load_rounded(network + i + 8, inverse, full_scale));
        const __m256i high = _mm256_packus_epi32(load_rounded(network + i + 16, inverse, full_scale),
                                                 load_rounded(network + i + 24, inverse, full_scale));
        const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), unpack_lanes);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(samples + i), bytes);
    }
    row_from_f32(network + i, values - i, inverse_gain, samples + i);
}

}  // namespace

const RowKernels kAvx2Rows = {avx2_to_f32<uint8_t>, avx2_to_f32<uint16_t>,  avx2_to_f32<float>,
                              avx2_to_u8,           row_from_f32<uint16_t>, row_from_f32<float>};

}  // namespace pb::device
