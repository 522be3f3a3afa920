// Numbers of ranks and processors for people: what follows one another is a run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb {

/// "0-3, 7"; `numbers` ascend.
[[nodiscard]] std::string runs_text(std::span<const int> numbers, std::string_view separator = ", ");

/// "rank 7", "ranks 0-3, 7".
[[nodiscard]] std::string ranks_text(std::span<const int> ranks);

struct RankOnHost {
    int rank = 0;
    std::string host;
};

/// "rank 2@n1", "ranks 0-3@n1, 4, 6@n2"; `ranks` ascend.
[[nodiscard]] std::string ranks_text(std::span<const RankOnHost> ranks);

}  // namespace pb
