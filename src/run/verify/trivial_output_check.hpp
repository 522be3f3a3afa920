// Detects outputs that are not denoised images by comparing their samples with the input.
#pragma once

#include "image/image.hpp"

#include <optional>

namespace pb::run {

/// Whether the parts of an output are equal to the input, or constant.
struct TrivialOutputCheck {
    bool equal = true, output_constant = true, input_constant = true;
    std::optional<float> first_in, first_out;

    void add(const image::Image& in, const image::Image& out) {
        const auto* read = in.as<float>();
        const auto* written = out.as<float>();
        if (!first_in) first_in = read[0];
        if (!first_out) first_out = written[0];
        const auto count = static_cast<size_t>(out.extent().pixels() * out.channels());
        for (size_t i = 0; i < count; ++i) {
            equal = equal && written[i] == read[i];
            output_constant = output_constant && written[i] == *first_out;
            input_constant = input_constant && read[i] == *first_in;
        }
    }
};

}  // namespace pb::run
