// The trials of find_card.hpp: runs windows and compares outputs.
#pragma once

#include "network/find_card.hpp"

namespace pb::network {

/// A smaller change of the output, by its range, is taken for none: a tenth of the tolerance of the verification.
inline constexpr double kVisible = 1e-5;

class CardTrials {
  public:
    explicit CardTrials(const TryWindow& try_window) : try_window_(try_window) {}

    NetworkCard card;  // what is known so far

    [[nodiscard]] bool accepts(Extent extent);
    [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }

    /// The output for `window`. Throws UsageError for a refusal: windows of this kind have been accepted before.
    [[nodiscard]] std::vector<float> run(const std::vector<float>& window, Extent extent);

    /// Largest difference by the range or by the largest value of `a`, whichever is larger; infinity for NaN.
    [[nodiscard]] double difference(const std::vector<float>& a, const std::vector<float>& b) const;

    [[nodiscard]] int64_t num_trials() const { return num_trials_; }

  private:
    const TryWindow& try_window_;
    std::string last_refusal_;
    int64_t num_trials_ = 0;
};

}  // namespace pb::network
