#include "engine/weights/fold.hpp"

#include <cmath>

namespace pb {

void fold(const BatchNorm& norm, Convolution& convolution) {
    const auto channels = static_cast<size_t>(convolution.out_channels);
    const size_t taps = convolution.weight.size() / channels;
    convolution.bias.resize(channels, 0.0f);
    for (size_t c = 0; c < channels; ++c) {
        const double factor = double{norm.scale[c]} / std::sqrt(double{norm.variance[c]} + norm.eps);
        for (size_t i = c * taps; i < (c + 1) * taps; ++i)
            convolution.weight[i] = static_cast<float>(double{convolution.weight[i]} * factor);
        const double centred = double{convolution.bias[c]} - double{norm.mean[c]};
        convolution.bias[c] = static_cast<float>(centred * factor + double{norm.shift[c]});
    }
}

}  // namespace pb
