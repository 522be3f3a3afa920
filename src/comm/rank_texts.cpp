#include "rank_texts.hpp"

#include <algorithm>

namespace pb {

std::string rank_list(const std::vector<RankText>& ranks) {
    std::string list;
    for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        const std::string& host = ranks[begin].host;
        end = begin + 1;
        while (end < ranks.size() && ranks[end].rank == ranks[end - 1].rank + 1 && ranks[end].host == host) ++end;
        list.append(list.empty() ? "" : ", ").append(std::to_string(ranks[begin].rank));
        if (end - begin > 1) list.append("-").append(std::to_string(ranks[end - 1].rank));
        if (end == ranks.size() || ranks[end].host != host) list.append("@").append(host);
    }
    return list;
}

std::string merge_texts(const std::vector<RankText>& all) {
    std::vector<std::vector<RankText>> groups;
    for (const RankText& one : all) {
        const auto same = std::find_if(groups.begin(), groups.end(),
                                       [&](const auto& group) { return group.front().text == one.text; });
        if (same == groups.end())
            groups.push_back({one});
        else
            same->push_back(one);
    }
    std::string merged;
    for (const auto& group : groups) {
        merged.append(merged.empty() ? "" : "\n").append(group.size() > 1 ? "ranks " : "rank ");
        merged.append(rank_list(group)).append(": ").append(group.front().text);
    }
    return merged;
}

}  // namespace pb
