// How many values of a network's output are not finite, counted where they are, before they become integers, which
// cannot say so.
#pragma once

#include "patchbench/base/batch_view.hpp"
#include "patchbench/device/stream.hpp"

#include <cstdint>

namespace pb::device {

/// A part of an image of a batch, in pixels of that image, and how many of its values are not finite.
struct PartCount {
    Rect part;
    uint32_t not_finite = 0;
};

/// Adds what is not finite in the first `num_counts` parts to their counts. `network`: f32 | bf16 | f16 in its layout.
/// Part i is of image i; in a batch of one image all parts are of that image. `counts`: memory of the stream's device,
/// where `network` is, too. In `stream`'s order.
void count_not_finite(const BatchView& network, PartCount* counts, int64_t num_counts, Stream& stream);

}  // namespace pb::device
