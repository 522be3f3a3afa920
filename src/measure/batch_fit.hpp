// What a sweep over batches says: the fastest batch, the smallest that is about as fast, and how T(b) bends. Which
// point to take is recommendation.hpp's to say: it looks at seams and memory, too. Pure.
#pragma once

#include "measure/batch_curve.hpp"

#include <optional>
#include <string>
#include <vector>

namespace pb {

enum class BetterForm : uint8_t { falling, rising, undecided };

template <>
struct EnumNames<BetterForm> {
    static constexpr std::array<std::pair<BetterForm, std::string_view>, 3> names{
        {{BetterForm::falling, "falling"}, {BetterForm::rising, "rising"}, {BetterForm::undecided, "undecided"}}};
};

struct BatchFit {
    std::optional<BatchCurve> left_arm;  // falling form, batches up to the fastest only
    std::optional<BatchCurve> falling;   // both forms on all batches: only these two can be compared
    std::optional<BatchCurve> rising;
    BetterForm better = BetterForm::undecided;
    std::string comparison;        // which form fits better, and whether the data can tell
    int64_t fastest_batch = 1;     // smallest time a window of those measured
    int64_t sufficient_batch = 1;  // the smallest within 3 % of it
    std::string sufficient_words;  // how much slower, and what smaller ones lose
};

/// Throws Error for no times and for those that `fit_batch_curve` refuses.
[[nodiscard]] BatchFit fit_batches(const std::vector<BatchTime>& times);

}  // namespace pb
