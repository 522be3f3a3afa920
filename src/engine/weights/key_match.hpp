// Which known layout the keys of a file fit best, and under which prefix the network lies: a training script may save
// it as one part of a larger module, beside a loss or a second copy of the weights.
#pragma once

#include "network/key_layout.hpp"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace pb::engine {

/// Parts of a batch norm in PyTorch; a further one, num_batches_tracked, has no effect on inference.
inline constexpr std::array<const char*, 4> kNormParts{".weight", ".bias", ".running_mean", ".running_var"};

struct Match {
    network::KeyLayout layout;
    std::map<std::string, std::vector<int64_t>> expected;  // shapes by the keys of the layout
    size_t names = 0;                                      // keys of the layout that the file has
    double score = 0;                                      // 2 when all names and shapes agree and there are no others

    /// Whether so many keys agree that the file is taken for one of this network.
    [[nodiscard]] bool is_likely() const { return names * 4 >= expected.size(); }
};

/// Part of a file: the tensors whose keys begin with `prefix`.
struct NetworkPart {
    std::string prefix;  // ends in a dot; empty for the whole file
    Match match;         // of the keys without the prefix
    std::string note;    // what else the file holds and is not read; empty for nothing
};

/// Finds the network in the whole file, or else in the tensors under a prefix of at most three names. Of several
/// complete networks it takes the averaged one (`ema`, `swa` in the last name of its prefix), or the only one with an
/// ordinary name (`model`, `net`, ..). Throws UsageError, with `source` in front, when that leaves a choice. Where no
/// part is complete, returns the one that fits best.
[[nodiscard]] NetworkPart find_network(const network::CheckpointTensors& file, const std::string& source);

/// `a, b, c and 7 more`: at most `few` of them.
[[nodiscard]] std::string first_of(const std::vector<std::string>& texts, size_t few);
/// `'a', 'b', 'c' and 7 more`.
[[nodiscard]] std::string first_names(const std::vector<std::string>& names);

}  // namespace pb::engine
