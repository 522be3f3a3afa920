// A graph as one line, which results, messages between ranks and the names of shared weights carry.
#pragma once

#include "patchbench/network/graph.hpp"

#include <string>
#include <string_view>

namespace pb::network {

/// "input 3; convolution 0 head 3 1 8 bias; relu 1; ..": the kind, the operands, and of a convolution the name of its
/// weights, kernel, stride, channels and whether it has a bias. Norms and gains, which graphs of files have not, are
/// left out.
[[nodiscard]] std::string line_of(const Graph& graph);

/// The inverse. Throws UsageError for a text that is no graph.
[[nodiscard]] Graph parse_graph(std::string_view line);

/// `name` as one word of such a line: letters, digits and . _ : / - remain, others become _, and at most 100
/// characters.
[[nodiscard]] std::string word_of(std::string_view name);

}  // namespace pb::network
