#include "app/custom_networks.hpp"

#include "app/terminal.hpp"
#include "base/atomic_file.hpp"
#include "base/engine_support.hpp"
#include "base/mapped.hpp"
#include "base/network_format.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "comm/interruption.hpp"
#include "config/load_yaml.hpp"
#include "config/text.hpp"
#include "device/processors.hpp"
#include "engine/network_file.hpp"
#include "run/agreement.hpp"
#include "run/from_root.hpp"
#include "run/weights_source.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace pb::app {

namespace fs = std::filesystem;

namespace {

/// An installed engine that runs `file`; where there is a choice one in a process of its own, which a network that
/// crashes ends alone. `obstacle`: why our own engines do not run it, if that is known.
EngineKind installed_engine_for(const fs::path& file, const std::string& obstacle) {
    const auto engines = engines_of_file(file.string());
    auto found = std::ranges::find_if(
        engines, [](EngineKind each) { return has_own_process(each) && engine::is_installed(each); });
    if (found == engines.end()) found = std::ranges::find_if(engines, engine::is_installed);
    if (found != engines.end()) return *found;
    throw UsageError(
        fmt::format("{}: {}no engine that runs it is installed: launch/engines.sh --only {}", file.string(),
                    obstacle.empty() ? "" : "not for the engines torch and native (" + obstacle + "), and ",
                    name_of(engines.front())));
}

engine::EngineOptions trial_options(const fs::path& file, const config::EngineSetting& wanted,
                                    std::optional<EngineKind> sole, const std::string& obstacle) {
    engine::EngineOptions options{.engine = wanted.kind};
    options.worker.file = wanted.file;
    options.threads = device::usable_processors();
    options.worker.interrupt = comm::stop_if_interrupted;
    if (wanted.is_automatic || !runs_file(wanted.kind, file.string()))
        options.engine = installed_engine_for(file, obstacle);
    if (sole && options.engine != EngineKind::python) options.engine = *sole;
    return options;
}

void check_format(const fs::path& file) {
    require_regular_file(file);
    if (!network_format(file))
        throw UsageError(file.string() + ": a network is taken from a file " + network_endings_text());
}

/// `model.onnx.card.yaml` beside `model.onnx`.
fs::path card_file(const fs::path& network) { return network.string() + ".card.yaml"; }

/// The card beside `file`, if there is one for it.
std::optional<LookedAt> read_card(const fs::path& file) {
    const fs::path beside = card_file(file);
    if (!fs::exists(beside)) return std::nullopt;
    const config::CardFile card = config::load_network_card(beside);
    if (card.sha256.empty() || card.sha256 == engine::digest_of_network(file))
        return LookedAt{.card = card.card, .origin = "the card " + beside.string()};
    print_text(stderr, "patchbench: {} is the card of another file: it is not used\n", beside.string());
    return std::nullopt;
}

/// A network of our operations: only its range is found by trying, or stated by the card beside it.
LookedAt look_at_layers(const fs::path& file, network::NetworkCard card, const std::optional<LookedAt>& beside) {
    const std::string origin =
        fmt::format("graph of our operations: engines {}", engines_of_file_text(file.string(), Layers::known));
    if (beside) {
        card.range = beside->card.range;
        network::NetworkCard stated = beside->card;
        stated.layers = card.layers;
        LookedAt looked{.card = card, .origin = fmt::format("{}; its range is that of {}", origin, beside->origin)};
        if (stated != card)
            looked.remarks.push_back(
                fmt::format("{} says otherwise ({}): the layers hold", beside->origin, network::to_text(beside->card)));
        return looked;
    }
    LookedAt looked = try_range(file, card);
    looked.origin = origin + "; its range was " + looked.origin;
    return looked;
}

/// Whether the noise of its training is known, which is stated for samples of 0 to 1.
bool says_noise_in_unit_range(const fs::path& file, network::NetworkKind known) {
    const engine::Weights weights = run::find_weights({.network = known, .weights = file.string()}, std::nullopt);
    return weights.trained_sigma || weights.most_sigma;
}

/// Each file once, with the first engine of a point that can run it.
std::vector<std::pair<std::string, config::EngineSetting>> files_of(const std::vector<config::PointSettings*>& points) {
    std::vector<std::pair<std::string, config::EngineSetting>> files;
    for (const config::PointSettings* point : points) {
        if (!point->network.is_custom()) continue;
        auto known = std::ranges::find_if(files, [&](const auto& each) { return each.first == point->network.file; });
        if (known == files.end()) known = files.insert(known, {point->network.file, point->engine});
        if (!runs_file(known->second, known->first)) known->second = point->engine;
    }
    return files;
}

/// What settings take of a file, as LookedAt has it.
struct CustomFacts {
    std::optional<network::NetworkKind> known;
    std::optional<EngineKind> sole_engine;
    std::string card, obstacle;
};

template <class V, record::Like<CustomFacts> F>
void fields(V& v, F& facts) {
    v("known", facts.known);
    v("sole_engine", facts.sole_engine);
    v("card", facts.card);
    v("obstacle", facts.obstacle);
}

using FactsByFile = std::map<std::string, CustomFacts>;

FactsByFile look_at_all(const std::vector<config::PointSettings*>& points, bool trusts_model, const fs::path& cache) {
    FactsByFile facts;
    for (const auto& [file, engine] : files_of(points)) {
        const LookedAt looked = look_at_network(file, {.engine = engine, .trusts_model = trusts_model, .cache = cache});
        facts[file] = {looked.known, looked.sole_engine, network::stored_text(looked.card), looked.obstacle};
        if (!looked.known) print_text(stderr, "{}: {}: {}\n", file, looked.origin, network::to_text(looked.card));
        for (const std::string& remark : looked.remarks) print_text(stderr, "{}: {}\n", file, remark);
    }
    return facts;
}

void settle(config::PointSettings& settings, const CustomFacts& facts) {
    if (facts.known) {
        settings.weights = settings.network.file;
        settings.network = *facts.known;
        return;
    }
    if (facts.sole_engine && settings.engine.is_automatic)  // another one that the user named refuses the file
        settings.engine = *facts.sole_engine;
    settings.network.card = network::parse_network_card(facts.card);
    settings.network.obstacle = facts.obstacle;
}

void settle_all(const std::vector<config::PointSettings*>& points, const FactsByFile& facts) {
    for (config::PointSettings* point : points)
        if (point->network.is_custom()) settle(*point, facts.at(point->network.file));
}

}  // namespace

LookedAt look_at_network(const fs::path& file, const LookOptions& look) {
    check_format(file);
    const auto known = engine::known_network(file);
    const auto weights = [&](std::vector<std::string> remarks) {
        return LookedAt{
            .known = known, .remarks = std::move(remarks), .origin = fmt::format("weights of {}", name_of(*known))};
    };
    if (known && network_format(file) != NetworkFormat::onnx) return weights({});
    if (is_code(file) && !look.trusts_model)
        throw UsageError(file.string() + ": is code, which would run as you: add --trust-model where you trust it");
    const auto card = look.reads_card ? read_card(file) : std::nullopt;
    engine::LayersInFile layers = engine::layers_in(file);
    if (known && (!layers.card || (!card && says_noise_in_unit_range(file, *known)))) return weights({});
    if (layers.card) {
        LookedAt looked = look_at_layers(file, *layers.card, card);
        return known && looked.card.range == 1 ? weights(std::move(looked.remarks)) : looked;
    }
    const auto sole = engine::sole_engine_of(file);
    LookedAt looked =
        card ? *card : try_network(file, trial_options(file, look.engine, sole, layers.obstacle), look.cache);
    looked.sole_engine = sole;
    looked.obstacle = std::move(layers.obstacle);
    return looked;
}

fs::path save_card(const fs::path& network, const LookedAt& looked) {
    std::string text = fmt::format(
        "# What tiling must know of {}, {}.\n"
        "# A value may be corrected; without the line sha256 the card holds whatever the file contains.\n",
        network.filename().string(), looked.origin);
    for (const std::string& remark : looked.remarks) text += "# " + remark + "\n";
    text += "sha256: " + engine::digest_of_network(network) + "\n";
    for (const auto& [name, value] : network::values_of(looked.card)) text += fmt::format("{}: {}\n", name, value);
    fs::path file = card_file(network);
    write_whole(file, text);
    return file;
}

void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model) {
    settle_all(points, look_at_all(points, trusts_model, {}));
}

void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model,
                     const comm::Communicator& world, const fs::path& cache) {
    if (files_of(points).empty()) return;
    FactsByFile facts;
    const run::Attempt mine = run::attempt([&] {
        if (world.is_root()) facts = look_at_all(points, trusts_model, cache);
    });
    world.sleeping_barrier();  // the root's engine has the cores
    run::agree_on(world, mine);
    settle_all(points, run::from_root(world, facts));
}

void take_network_of_weights(const comm::Communicator& world, config::PointSettings& settings) {
    network::NetworkKind network = settings.network;
    run::together(world, [&] {
        if (world.is_root()) network = run::network_in(settings.weights).value_or(network);
    });
    settings.network = run::from_root(world, network);
}

std::vector<config::PointSettings*> points_of(config::Config& config) {
    return mapped(config.points, [](config::PointSettings& point) { return &point; });
}

}  // namespace pb::app
