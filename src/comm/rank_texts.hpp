// What several ranks say, as one text: equal texts once, with the ranks that say them.
#pragma once

#include "base/rank_list.hpp"

#include <string>
#include <vector>

namespace pb {

struct RankText {
    RankOnHost rank;
    std::string text;
};

/// One paragraph a different text, in the order of first ranks: "rank 2@n1: text", "ranks 0-3@n1, 4, 6@n2: text". `all`
/// comes in rank order.
[[nodiscard]] std::string merge_texts(const std::vector<RankText>& all);

}  // namespace pb
