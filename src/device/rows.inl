// The loops of rows.hpp for one instruction set. No `#pragma once`: Highway includes this file for each one, with compiler
// options of its own.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace pb::device::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;
constexpr Floats kFloats;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(kFloats));
/// As many samples as a vector has floats.
template <class Sample>
using Samples = hn::Rebind<Sample, Floats>;

/// See Note [Exact division]: the head's product is exact, so a fused sum has the same bits.
template <class Sample>
HWY_INLINE Vector unit_of(hn::Vec<Samples<Sample>> samples) {
    const Vector values = hn::ConvertTo(kFloats, hn::PromoteTo(hn::Rebind<int32_t, Floats>(), samples));
    const Vector tails = hn::Mul(values, hn::Set(kFloats, Reciprocal<Sample>::kTail));
    return hn::MulAdd(values, hn::Set(kFloats, Reciprocal<Sample>::kHead), tails);
}
template <>
HWY_INLINE Vector unit_of<float>(Vector samples) {
    return samples;
}

template <class Sample>
void to_f32(const Sample* HWY_RESTRICT samples, int64_t count, int64_t channels, const RowScale& scale,
            float* HWY_RESTRICT network) {
    if (!scale.extra_channel) {
        count *= channels;
        channels = 1;
    }
    const Samples<Sample> tag;
    const Vector gain = hn::Set(kFloats, scale.gain), sigma = hn::Set(kFloats, scale.sigma);
    int64_t i = 0;
    if (!scale.extra_channel) {
        for (; i + kLanes <= count; i += kLanes)
            hn::StoreU(hn::Mul(unit_of<Sample>(hn::LoadU(tag, samples + i)), gain), kFloats, network + i);
    } else if (channels == 1) {
        for (; i + kLanes <= count; i += kLanes)
            hn::StoreInterleaved2(hn::Mul(unit_of<Sample>(hn::LoadU(tag, samples + i)), gain), sigma, kFloats,
                                  network + 2 * i);
    } else if (channels == 3) {
        for (; i + kLanes <= count; i += kLanes) {
            hn::Vec<Samples<Sample>> red, green, blue;
            hn::LoadInterleaved3(tag, samples + 3 * i, red, green, blue);
            hn::StoreInterleaved4(hn::Mul(unit_of<Sample>(red), gain), hn::Mul(unit_of<Sample>(green), gain),
                                  hn::Mul(unit_of<Sample>(blue), gain), sigma, kFloats, network + 4 * i);
        }
    }
    const int64_t channels_out = channels + (scale.extra_channel ? 1 : 0);
    for (; i < count; ++i) {
        for (int64_t c = 0; c < channels; ++c)
            network[i * channels_out + c] = to_unit(samples[i * channels + c]) * scale.gain;
        if (scale.extra_channel) network[i * channels_out + channels] = scale.sigma;
    }
}

/// Scaled, rounded to nearest, ties to even, and clipped. The order of the maximum's operands sends NaN to 0.
template <class Sample>
HWY_INLINE hn::Vec<Samples<Sample>> samples_of(Vector values) {
    const Vector scaled = hn::Mul(values, hn::Set(kFloats, kFullScale<Sample>));
    return hn::DemoteTo(Samples<Sample>(), hn::NearestInt(hn::Max(scaled, hn::Zero(kFloats))));
}
template <>
HWY_INLINE Vector samples_of<float>(Vector values) {
    return values;
}

template <class Sample>
void from_f32(const float* HWY_RESTRICT network, int64_t values, float inverse_gain, Sample* HWY_RESTRICT samples) {
    const Vector inverse = hn::Set(kFloats, inverse_gain);
    int64_t i = 0;
    for (; i + kLanes <= values; i += kLanes)
        hn::StoreU(samples_of<Sample>(hn::Mul(hn::LoadU(kFloats, network + i), inverse)), Samples<Sample>(),
                   samples + i);
    for (; i < values; ++i) samples[i] = from_unit<Sample>(network[i] * inverse_gain);
}

}  // namespace

AllRowKernels rows_of_target() {
    return {{&to_f32<uint8_t>, &from_f32<uint8_t>},
            {&to_f32<uint16_t>, &from_f32<uint16_t>},
            {&to_f32<float>, &from_f32<float>}};
}

}  // namespace pb::device::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
