#include "engine/weights/key_match.hpp"

#include "base/mapped.hpp"
#include "base/text.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"
#include "network/graph_facts.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

namespace pb::engine {
namespace {

using network::CheckpointTensors;
using Names = std::vector<std::string>;

Match compare(const network::KeyLayout& layout, const CheckpointTensors& file) {
    Match match{.layout = layout, .expected = {}};
    for (const auto& [name, shapes] : network::checkpoint_shapes(layout.graph)) {
        match.expected[name + ".weight"] = shapes.weight_shape();
        if (shapes.has_bias) match.expected[name + ".bias"] = {shapes.out_channels};
        if (shapes.norm.empty()) continue;
        for (const char* part : kNormParts) match.expected[shapes.norm + part] = {shapes.out_channels};
    }
    size_t agreeing_shapes = 0;
    for (const auto& [key, shape] : match.expected) {
        const auto found = file.shapes.find(key);
        if (found == file.shapes.end()) continue;
        ++match.names;
        if (found->second == shape) ++agreeing_shapes;
    }
    const size_t together = match.expected.size() + file.shapes.size() - match.names;
    match.score = static_cast<double>(match.names + agreeing_shapes) / static_cast<double>(together);
    return match;
}

/// The layout with the highest score; the first one among equal scores.
Match best_match(const CheckpointTensors& file) {
    const auto compared = [&](const network::KeyLayout& layout) { return compare(layout, file); };
    const std::vector<Match> matches = mapped(network::known_layouts(file), compared);
    return *std::ranges::max_element(matches, {}, &Match::score);
}

bool is_complete(const Match& match) { return match.score == 2; }

/// The prefixes with the most tensors. Their number is limited because a hostile file could have any number.
Names prefixes_of(const CheckpointTensors& file) {
    constexpr int kMostNames = 3;
    constexpr size_t kMostPrefixes = 32;
    std::map<std::string, size_t> tensors;
    for (const auto& [key, shape] : file.shapes) {
        size_t dot = key.find('.');
        for (int i = 0; i < kMostNames && dot != std::string::npos; ++i, dot = key.find('.', dot + 1))
            ++tensors[key.substr(0, dot + 1)];
    }
    std::vector<std::pair<std::string, size_t>> sorted(tensors.begin(), tensors.end());
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &std::pair<std::string, size_t>::second);
    sorted.resize(std::min(sorted.size(), kMostPrefixes));
    return mapped(sorted, &std::pair<std::string, size_t>::first);
}

CheckpointTensors part_of(const CheckpointTensors& file, const std::string& prefix) {
    CheckpointTensors part{.shapes = {}, .under = file.under + prefix};
    for (auto each = file.shapes.lower_bound(prefix); each != file.shapes.end() && each->first.starts_with(prefix);
         ++each)
        part.shapes.emplace(each->first.substr(prefix.size()), each->second);
    return part;
}

/// The last name of the prefix, without its dot.
std::string last_name(const std::string& prefix) {
    const std::string names = prefix.substr(0, prefix.size() - 1);
    return names.substr(names.rfind('.') + 1);  // npos + 1 is 0
}

enum class PartName : uint8_t {
    averaged,  // the copy of the weights that a training averages: `ema`, `model_ema`, `ema_model`
    ordinary,
    other
};

bool is_ordinary(std::string_view name) {
    constexpr std::array<std::string_view, 7> kOrdinary{"model",     "net",   "network", "denoiser",
                                                        "generator", "net_g", "netG"};
    return std::ranges::find(kOrdinary, name) != kOrdinary.end();
}

/// Whether a name within the keys of the part says that it is a network: `netG.model.0`.
bool is_called_network(const NetworkPart& part) {
    const std::string key = part.prefix + part.match.expected.begin()->first;
    for (size_t begin = 0, end = 0; end < key.size(); begin = end + 1) {
        end = std::min(key.find('.', begin), key.size());
        if (is_ordinary(std::string_view(key).substr(begin, end - begin))) return true;
    }
    return false;
}

PartName rank_of(const NetworkPart& part) {
    constexpr std::array<std::string_view, 4> kAveraged{"ema", "swa", "averaged", "avg"};
    const std::string name = last_name(part.prefix);
    if (is_ordinary(name)) return PartName::ordinary;
    const std::string joined = "_" + name + "_";
    const auto is_in_name = [&](std::string_view word) {
        return joined.find("_" + std::string(word) + "_") != std::string::npos;
    };
    if (std::ranges::any_of(kAveraged, is_in_name)) return PartName::averaged;
    return part.match.layout.is_guess && is_called_network(part) ? PartName::ordinary : PartName::other;
}

bool lies_in(const NetworkPart& part, const std::string& key) { return key.starts_with(part.prefix); }

/// Says which other networks and tensors are not read.
std::string note_on(const NetworkPart& chosen, const std::vector<NetworkPart>& complete,
                    const CheckpointTensors& file) {
    Names others, rest;
    for (const NetworkPart& part : complete)
        if (part.prefix != chosen.prefix) others.push_back(part.prefix);
    const auto is_in_a_network = [&](const auto& item) {
        return std::ranges::any_of(complete, [&](const auto& part) { return lies_in(part, item.first); });
    };
    for (const auto& item : file.shapes)
        if (!is_in_a_network(item)) rest.push_back(item.first);
    std::string note;
    if (!others.empty())
        note =
            fmt::format("the network under {} is read, not that under {}", shown(chosen.prefix), first_names(others));
    if (!rest.empty()) add_item(note, "not read beside the network: " + first_names(rest), "; ");
    return note;
}

/// A network that is trained as a gradient (deepinv's GSDRUNet): the whole gives the input less a derivative of it.
void refuse_gradient_step(const NetworkPart& part, const std::string& source) {
    if (("." + part.prefix).find(".student_grad.") == std::string::npos) return;
    throw UsageError(
        fmt::format("{}: the network under {} is part of a gradient-step denoiser, whose output is not the "
                    "network's; patchbench does not compute those",
                    source, shown(part.prefix)));
}

/// Drops parts of other parts: a network of which a part alone looks like a network.
void keep_outermost(std::vector<NetworkPart>& complete) {
    std::ranges::sort(complete, {}, &NetworkPart::prefix);
    const auto is_inner = [](const NetworkPart& outer, const NetworkPart& part) {
        return part.prefix.starts_with(outer.prefix);
    };
    complete.erase(std::unique(complete.begin(), complete.end(), is_inner), complete.end());
}

/// A Sequential of convolutions may be a part of a larger network, as the noise estimator of a CBDNet, unless it is
/// called a network or most convolutions of the file are its own.
void refuse_lesser_part(const NetworkPart& part, const CheckpointTensors& file, const std::string& source) {
    if (!part.match.layout.is_guess || rank_of(part) != PartName::other) return;
    const auto is_filter = [](const auto& item) { return item.second.size() == 4; };
    Names beside;
    for (const auto& item : file.shapes)
        if (is_filter(item) && !lies_in(part, item.first)) beside.push_back(item.first);
    if (std::ssize(beside) <= std::ranges::count_if(part.match.expected, is_filter)) return;
    throw UsageError(
        fmt::format("{}: the convolutions under {} may be a part of a larger network, which patchbench does not know: "
                    "beside them are {}; if they are the denoiser, save them alone",
                    source, shown(part.prefix), first_names(beside)));
}

NetworkPart choose(std::vector<NetworkPart> complete, const CheckpointTensors& file, const std::string& source) {
    std::ranges::stable_sort(complete, {}, rank_of);
    if (complete.size() > 1 && rank_of(complete[0]) == rank_of(complete[1]))
        throw UsageError(fmt::format("{}: holds {} networks, under {}; save the one that is wanted alone", source,
                                     complete.size(), first_names(mapped(complete, &NetworkPart::prefix))));
    NetworkPart chosen = complete.front();
    refuse_gradient_step(chosen, source);
    refuse_lesser_part(chosen, file, source);
    chosen.note = note_on(chosen, complete, file);
    return chosen;
}

}  // namespace

NetworkPart find_network(const CheckpointTensors& file, const std::string& source) {
    NetworkPart best{.prefix = "", .match = best_match(file), .note = ""};
    if (is_complete(best.match)) return best;
    const NetworkPart whole = best;
    std::vector<NetworkPart> complete;
    for (const std::string& prefix : prefixes_of(file)) {
        NetworkPart part{.prefix = prefix, .match = best_match(part_of(file, prefix)), .note = ""};
        if (part.match.score > best.match.score) best = part;
        if (is_complete(part.match)) complete.push_back(std::move(part));
    }
    keep_outermost(complete);
    if (!complete.empty()) return choose(std::move(complete), file, source);
    return best.match.is_likely() ? best : whole;
}

std::string first_of(const std::vector<std::string>& texts, size_t few) {
    const std::string more = texts.size() > few ? fmt::format(" and {} more", texts.size() - few) : "";
    return fmt::format("{}{}", fmt::join(std::span(texts).first(std::min(texts.size(), few)), ", "), more);
}

std::string first_names(const std::vector<std::string>& names) { return first_of(mapped(names, shown), 3); }

}  // namespace pb::engine
