// Finds outputs that show no work of a network: all of them equals the input, or is constant. So is the right output of
// some images, such as a dark frame in 8 bits; the reference decides.
#pragma once

#include "run/verify/verification.hpp"

#include <optional>

namespace pb::run {

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

  private:
    bool equal_ = true, output_constant_ = true, input_constant_ = true;
    std::optional<float> first_in_, first_out_;
};

/// Adds a reason for each way in which `found` is trivial, unless the reference of the windows that would tell is, in
/// stored samples, the output itself. Collective: `found` agrees on all ranks. The reasons are the same on all ranks.
void judge_trivial_output(const Subject& subject, const TrivialOutput& found, record::Verification& result);

/// Judges an output of which each rank can read its own windows: by some of them, and by all where these are trivial.
/// Collective. The reasons are the same on all ranks.
void check_trivial_output(const Subject& subject, record::Verification& result);

}  // namespace pb::run
