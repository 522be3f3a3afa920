#include "base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace pb {

namespace {

/// Independent of the locale, unlike std::iscntrl.
bool is_control(char c) {
    constexpr char kDelete = 0x7F;
    const auto code = static_cast<unsigned char>(c);
    return code < ' ' || code == kDelete;
}

const char* word_for(size_t ranks) { return ranks == 1 ? "rank " : "ranks "; }

}  // namespace

void add_item(std::string& list, std::string_view item, std::string_view separator) {
    if (!list.empty()) list += separator;
    list += item;
}

std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
    std::vector<std::string_view> pieces;
    while (!text.empty()) {
        pieces.push_back(text.substr(0, text.find(separator)));
        text.remove_prefix(std::min(text.size(), pieces.back().size() + separator.size()));
    }
    return pieces;
}

std::string place_text(const char* file, unsigned line, const char* function) {
    const std::string_view path = file;
    return fmt::format("{}:{} in {}", path.substr(path.rfind('/') + 1), line, function);
}

bool has_controls(std::string_view text) { return std::ranges::any_of(text, is_control); }

std::string without_controls(std::string text, char mark, std::string_view kept) {
    const auto is_replaced = [&](char c) { return is_control(c) && kept.find(c) == std::string_view::npos; };
    std::ranges::replace_if(text, is_replaced, mark);
    return text;
}

size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

std::string lower_case(std::string_view word) {
    std::string lower(word);
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    return lower;
}

std::string nearest_word(std::string_view word, std::span<const std::string> known) {
    const std::string lower = lower_case(word);
    std::string best;
    size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
    for (const auto& candidate : known) {
        const size_t distance = edit_distance(lower, lower_case(candidate));
        if (distance < best_distance && distance < candidate.size()) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

std::string did_you_mean(const std::string& nearest) {
    return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

std::string runs_text(std::span<const int> numbers, std::string_view separator) {
    std::string text;
    for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
        end = begin + 1;
        while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
        add_item(text, std::to_string(numbers[begin]), separator);
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
        add_item(text, runs_text(of_host) + "@" + ranks[begin].host);
    }
    return word_for(ranks.size()) + text;
}

}  // namespace pb
