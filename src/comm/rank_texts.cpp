#include "comm/rank_texts.hpp"

#include <algorithm>

namespace pb {

std::string merge_texts(const std::vector<RankText>& all) {
    struct Group {
        std::string text;
        std::vector<RankOnHost> ranks;
    };
    std::vector<Group> groups;
    for (const auto& [rank, text] : all) {
        auto same = std::ranges::find(groups, text, &Group::text);
        if (same == groups.end()) same = groups.insert(groups.end(), {text, {}});
        same->ranks.push_back(rank);
    }
    std::string merged;
    for (const auto& [text, ranks] : groups) merged += (merged.empty() ? "" : "\n") + ranks_text(ranks) + ": " + text;
    return merged;
}

}  // namespace pb
