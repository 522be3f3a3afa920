// Analyses a sweep over batches: the fastest batch, the smallest that is about as fast, and the form of T(b). It does
// not choose a point. recommendation.hpp does, from seams and memory as well. Pure.
#pragma once

#include "measure/batch_curve.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb::measure {

enum class BetterForm : uint8_t { falling, rising, undecided };

constexpr auto enum_names(BetterForm) {
    return std::to_array<EnumName<BetterForm>>(
        {{BetterForm::falling, "falling"}, {BetterForm::rising, "rising"}, {BetterForm::undecided, "undecided"}});
}

struct BatchFit {
    std::optional<BatchCurve> left_arm;  // falling form, batches up to the fastest
    std::optional<BatchCurve> falling;   // both on all batches, so these two can be compared
    std::optional<BatchCurve> rising;
    BetterForm better = BetterForm::undecided;
    std::string comparison;        // which form fits better, and whether the data can decide
    int64_t fastest_batch = 1;     // the smallest measured time per window
    int64_t sufficient_batch = 1;  // the smallest batch within 3 % of the fastest
    std::string sufficient_words;  // how much slower it is, and what smaller ones lose
};

/// Throws Error when there are no times, and for times that `fit_batch_curve` refuses.
[[nodiscard]] BatchFit fit_batches(const std::vector<BatchTime>& times);

}  // namespace pb::measure
