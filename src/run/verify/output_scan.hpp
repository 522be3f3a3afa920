// Checks an output as a whole: written everywhere, finite, not equal to the input and not constant.
#pragma once

#include "run/verify/verification.hpp"

#include <cmath>
#include <optional>
#include <string>

namespace pb::run {

// Finds outputs that show no work of a network: all of them equals the input, or is constant. So is the right output of
// some images, such as a dark frame in 8 bits; the reference decides.

/// Whether all parts that were added are equal to the input, or constant. Without parts both are true.
class TrivialOutput {
  public:
    /// The same part of input and output, f32.
    void add(const image::Image& in, const image::Image& out);
    /// Leaves what holds on all ranks. Collective.
    void agree(const comm::Communicator& ranks);

    [[nodiscard]] bool equals_input() const { return !input_constant_ && equal_; }
    [[nodiscard]] bool is_constant() const { return !input_constant_ && output_constant_; }
    /// Whether more parts could still show it to be trivial.
    [[nodiscard]] bool may_be() const { return equal_ || output_constant_; }
    /// Mean of the output less that of the input, of the samples that are finite in both, clipped to [0, 1] as for
    /// PSNR; nothing where there is none.
    [[nodiscard]] std::optional<double> mean_shift() const {
        return num_samples_ > 0 ? std::optional(sum_of_differences_ / num_samples_) : std::nullopt;
    }

    /// Root mean square of the same differences.
    [[nodiscard]] std::optional<double> rms_change() const {
        return num_samples_ > 0 ? std::optional(std::sqrt(sum_of_squares_ / num_samples_)) : std::nullopt;
    }

  private:
    bool equal_ = true, output_constant_ = true, input_constant_ = true;
    std::optional<float> first_in_, first_out_;
    double sum_of_differences_ = 0, sum_of_squares_ = 0, num_samples_ = 0;
};

/// Keeps mean shift and change, and adds a reason for each way in which `found` is trivial, unless the reference of the
/// windows that would tell is, in stored samples, the output itself. Collective: `found` agrees on all ranks. The
/// reasons are the same on all ranks.
void judge_trivial_output(const Subject& subject, const TrivialOutput& found, record::Verification& result);

/// Judges an output of which each rank can read its own windows: by some of them, and by all where these are trivial.
/// Collective. The reasons are the same on all ranks.
void check_trivial_output(const Subject& subject, record::Verification& result);

/// Returns an error unless all windows together keep each pixel once.
[[nodiscard]] std::optional<std::string> find_coverage_fault(const record::PointTrace& trace, const Team& team,
                                                             const RankShare& share);

/// Returns an error if values of the network were not finite before they became integers on this rank.
[[nodiscard]] std::optional<std::string> find_lost_values(const CoreSink& output);

/// Counts the pixels of a streamed output that no rank wrote, and adds a reason if there are any. Collective.
void count_unwritten(const record::PointTrace& trace, const Team& team, const StreamCounts& counts,
                     record::Verification& result);

/// Names the ranks whose streamed samples were not finite. Collective; the same on all ranks.
[[nodiscard]] std::optional<std::string> name_ranks_not_finite(const Team& team, const StreamCounts& counts);

/// Scans all of a held output, and returns whether it is trivial. Only on the root, which holds it.
[[nodiscard]] TrivialOutput scan_held_output(const Subject& subject, record::Verification& result);

/// Checks a streamed output by the counts of each rank and by some of its windows. Collective; the reasons are the same
/// on all ranks.
void scan_streamed_output(const Subject& subject, record::Verification& result);

}  // namespace pb::run
