// Checks an output as a whole: written everywhere, finite, not equal to the input and not constant.
#pragma once

#include "image/image.hpp"
#include "run/verify/verification.hpp"

#include <optional>
#include <string>

namespace pb::run {

// Detects outputs that are not denoised images by comparing their samples with the input.

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

/// Returns an error unless all windows together keep each pixel once.
[[nodiscard]] std::optional<std::string> find_coverage_fault(const record::PointTrace& trace, const Team& team,
                                                             const RankShare& share);

/// Returns an error if values of the network were not finite before they became integers on this rank.
[[nodiscard]] std::optional<std::string> find_lost_values(const CoreSink& output);

/// Names the ranks whose streamed samples were not finite. Collective; the same on all ranks.
[[nodiscard]] std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts);

/// Scans all of a held output. Only on the root, which holds it.
void scan_held_output(const Subject& subject, record::Verification& result);

/// Checks a streamed output by the counts of each rank and by some of its windows. Collective; the reasons are the same
/// on all ranks.
void scan_streamed_output(const Subject& subject, record::Verification& result);

}  // namespace pb::run
