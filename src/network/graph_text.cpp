#include "network/graph_text.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <sstream>

namespace pb::network {

namespace {

constexpr char kBetweenOperations = ';';
constexpr std::string_view kBias = "bias";

std::string line_of(const Operation& operation) {
    std::string text(name_of(operation.kind));
    if (operation.kind == OperationKind::input) text += fmt::format(" {}", operation.channels);
    for (const size_t operand : operation.operands) text += fmt::format(" {}", operand);
    if (!operation.filter) return text;
    const Filter& filter = *operation.filter;
    text += fmt::format(" {} {} {} {}", filter.weights, filter.kernel, filter.stride, operation.channels);
    if (filter.has_bias) text += fmt::format(" {}", kBias);
    return text;
}

/// Reads an operation from its words. A word that is missing or wrong leaves `words` failed.
Operation read_operation(std::istringstream& words) {
    std::string word;
    words >> word;
    Operation operation{.kind = parse_enum<OperationKind>(word)};
    if (operation.kind == OperationKind::input) {
        words >> operation.channels;
    } else if (is_convolution(operation.kind)) {
        Filter filter;
        words >> operation.operands.emplace_back() >> filter.weights >> filter.kernel >> filter.stride >>
            operation.channels;
        filter.has_bias = !words.eof() && words >> word && word == kBias;
        if (!filter.has_bias && !words.eof()) words.setstate(std::ios::failbit);
        operation.filter = std::move(filter);
    } else {
        while (!words.eof() && words) words >> operation.operands.emplace_back();
    }
    return operation;
}

}  // namespace

std::string line_of(const Graph& graph) {
    std::string line;
    for (size_t i = 0; i < graph.size(); ++i)
        line += fmt::format("{}{}", i == 0 ? "" : fmt::format("{} ", kBetweenOperations), line_of(graph[i]));
    return line;
}

Graph parse_graph(std::string_view line) {
    std::istringstream lines{std::string(line)};
    std::vector<Operation> operations;
    for (std::string text; std::getline(lines, text, kBetweenOperations);) {
        std::istringstream words(text);
        operations.push_back(read_operation(words));
        std::string more;
        if (!words || words >> more) throw UsageError(fmt::format("'{}' is no operation of a network", text));
    }
    try {
        return Graph(std::move(operations));
    } catch (const Error& error) {
        throw UsageError(error.what());
    }
}

std::string word_of(std::string_view name) {
    constexpr size_t kLongest = 100;
    std::string word(name.substr(0, kLongest));
    const auto is_kept = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("._:/-").find(c) != std::string_view::npos;
    };
    std::ranges::replace_if(word, std::not_fn(is_kept), '_');
    return word.empty() ? "_" : word;
}

}  // namespace pb::network
