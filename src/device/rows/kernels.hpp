// The loops behind convert_row_*: one table of functions for each instruction set, chosen once for the process. The
// tables give the same bits (see convert.hpp for the definition).
#pragma once

#include <cstdint>

namespace pb::device {

/// To f32: `gain` scales; `sigma` is the value of an extra channel after each pixel's, where there is one.
struct RowScale {
    float gain;
    float sigma;
    bool extra_channel;
};

struct RowKernels {
    void (*u8_to_f32)(const uint8_t*, int64_t count, int64_t channels, const RowScale&, float*);
    void (*u16_to_f32)(const uint16_t*, int64_t count, int64_t channels, const RowScale&, float*);
    void (*f32_to_f32)(const float*, int64_t count, int64_t channels, const RowScale&, float*);
    // From f32: `values` interleaved values, each times `inverse_gain`.
    void (*f32_to_u8)(const float*, int64_t values, float inverse_gain, uint8_t*);
    void (*f32_to_u16)(const float*, int64_t values, float inverse_gain, uint16_t*);
    void (*f32_from_f32)(const float*, int64_t values, float inverse_gain, float*);
};

extern const RowKernels kBaselineRows;
extern const RowKernels kAvx2Rows;  // on x86-64 only

/// The fastest table that this processor runs.
[[nodiscard]] const RowKernels& row_kernels();

}  // namespace pb::device
