#include "base/rank_list.hpp"

#include <fmt/format.h>

namespace pb {

namespace {

const char* word_for(size_t ranks) { return ranks == 1 ? "rank " : "ranks "; }

}  // namespace

std::string runs_text(std::span<const int> numbers, std::string_view separator) {
    std::string text;
    for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
        end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        if (!text.empty()) text += separator;
        text += std::to_string(numbers[begin]);
        if (end - begin > 1) text += fmt::format("-{}", numbers[end - 1]);
    }
    return text;
}

std::string ranks_text(std::span<const int> ranks) { return word_for(ranks.size()) + runs_text(ranks); }

std::string ranks_text(std::span<const RankOnHost> ranks) {
    std::string text;
    for (size_t begin = 0, end = 0; begin < ranks.size(); begin = end) {
        std::vector<int> of_host;
        for (; end < ranks.size() && ranks[end].host == ranks[begin].host; ++end) of_host.push_back(ranks[end].rank);
        text += (text.empty() ? "" : ", ") + runs_text(of_host) + "@" + ranks[begin].host;
    }
    return word_for(ranks.size()) + text;
}

}  // namespace pb
