#include "run/point_conversion.hpp"

namespace pb {

Conversion conversion_for(const Point& point, const Weights& weights) {
    Conversion conversion;
    if (point.facts().takes_sigma)
        conversion.sigma = static_cast<float>(point.sigma);
    else if (weights.trained_sigma && point.sigma > 0)
        conversion.gain = static_cast<float>(*weights.trained_sigma / point.sigma);
    return conversion;
}

void settle_sigma(Point& point, const Weights& weights) {
    if (point.facts().takes_sigma || weights.trained_sigma) return;
    point.no_sigma = weights.trained ? "sigma has no effect: the noise level that " + weights.source +
                                           " was trained for is unknown; state it with trained_sigma (denoise: "
                                           "--trained-sigma) or as sigma_train in the metadata of a .safetensors "
                                           "file, unless it was trained for a range"
                                     : "sigma has no effect: " + weights.source + " is not trained";
    if (weights.trained) point.notes.push_back(point.no_sigma);
}

}  // namespace pb
