// A graph as text, for traces and for tests that expect one.
#pragma once

#include "patchbench/base/enum_names.hpp"
#include "patchbench/network/graph.hpp"

#include <sstream>
#include <string>

namespace pb::network {

inline std::string filter_text(const Filter& filter) {
    std::ostringstream text;
    text << " '" << filter.weights << "' " << filter.kernel << 'x' << filter.kernel;
    if (filter.stride > 1) text << " stride " << filter.stride;
    if (filter.has_bias) text << " bias";
    if (!filter.norm.empty()) text << " norm '" << filter.norm << "'";
    return text.str();
}

/// One line an operation: `1 convolution 'm_head' 3x3 of 0: 64 channels at scale 1`.
inline std::string to_text(const Graph& graph) {
    std::ostringstream text;
    for (size_t i = 0; i < graph.size(); ++i) {
        text << i << ' ' << name_of(graph[i].kind) << (graph[i].filter ? filter_text(*graph[i].filter) : "");
        for (size_t k = 0; k < graph[i].operands.size(); ++k) text << (k == 0 ? " of " : ", ") << graph[i].operands[k];
        text << ": " << graph.shape(i).channels << " channels at scale " << graph.shape(i).scale << '\n';
    }
    return text.str();
}

}  // namespace pb::network
