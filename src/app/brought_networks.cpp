#include "app/brought_networks.hpp"

#include "app/printed_text.hpp"
#include "base/atomic_file.hpp"
#include "base/engine_files.hpp"
#include "base/sha256.hpp"
#include "comm/interruption.hpp"
#include "config/load_yaml.hpp"
#include "config/text.hpp"
#include "device/host_memory.hpp"
#include "engine/brought.hpp"
#include "run/agreement.hpp"
#include "run/weights_source.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::app {

namespace fs = std::filesystem;

namespace {

/// An installed engine that runs `file`; where there is a choice one in a process of its own, which a network that
/// crashes ends alone.
EngineKind installed_engine_for(const fs::path& file) {
    const auto engines = engines_of_file(file.string());
    auto found = std::find_if(engines.begin(), engines.end(),
                              [](EngineKind each) { return has_own_process(each) && engine::is_installed(each); });
    if (found == engines.end()) found = std::find_if(engines.begin(), engines.end(), engine::is_installed);
    if (found != engines.end()) return *found;
    throw UsageError(fmt::format("{}: no engine that runs it is installed: launch/engines.sh --only {}", file.string(),
                                 name_of(engines.front())));
}

engine::EngineOptions trial_options(const fs::path& file, const config::EngineSetting& wanted,
                                    std::optional<EngineKind> sole) {
    engine::EngineOptions options{.engine = wanted.kind};
    options.worker.file = wanted.file;
    options.threads = static_cast<int>(device::affinity().size());
    options.worker.interrupt = comm::stop_if_interrupted;
    if (wanted.is_automatic || !runs_file(wanted.kind, file.string())) options.engine = installed_engine_for(file);
    if (sole && options.engine != EngineKind::python) options.engine = *sole;
    return options;
}

void check_format(const fs::path& file) {
    if (!fs::is_regular_file(file)) throw UsageError(file.string() + ": there is no such file");
    if (file.extension() != ".onnx" && !engine::is_code(file))
        throw UsageError(file.string() + ": a network is taken from a file .onnx, .pt, .pt2 or .py");
}

/// The card beside `file`, if there is one for it.
std::optional<LookedAt> read_card(const fs::path& file) {
    const fs::path beside = card_file(file);
    if (!fs::exists(beside)) return std::nullopt;
    const config::CardFile card = config::load_network_card(beside);
    if (card.sha256.empty() || card.sha256 == sha256_of_file(file))
        return LookedAt{{}, card.card, {}, {}, "the card " + beside.string()};
    print_text(stderr, "patchbench: {} is the card of another file: it is not used\n", beside.string());
    return std::nullopt;
}

/// Each file once, with the first engine of a point that can run it.
std::vector<std::pair<std::string, config::EngineSetting>> files_of(const std::vector<config::PointSettings*>& points) {
    std::vector<std::pair<std::string, config::EngineSetting>> files;
    for (const config::PointSettings* point : points) {
        if (!point->network.is_brought()) continue;
        auto known = std::find_if(files.begin(), files.end(),
                                  [&](const auto& each) { return each.first == point->network.file; });
        if (known == files.end()) known = files.insert(known, {point->network.file, point->engine});
        if (!runs_file(known->second, known->first)) known->second = point->engine;
    }
    return files;
}

constexpr std::string_view kAfterEngine = ": ";

/// What other ranks must know of a file: the name of a network, or a card, perhaps after that of an engine.
std::string text_of(const LookedAt& looked) {
    if (looked.known) return std::string(name_of(*looked.known));
    const std::string card = network::to_text(looked.card);
    return looked.sole_engine ? std::string(name_of(*looked.sole_engine)).append(kAfterEngine) + card : card;
}

/// One text a file (text_of).
std::vector<std::string> look_at_all(const std::vector<config::PointSettings*>& points, bool trusts_model) {
    std::vector<std::string> texts;
    for (const auto& [file, engine] : files_of(points)) {
        const LookedAt looked = look_at_network(file, {.engine = engine, .trusts_model = trusts_model});
        texts.push_back(text_of(looked));
        if (looked.known) continue;
        print_text(stderr, "{}: {}: {}\n", file, looked.origin, network::to_text(looked.card));
        for (const std::string& remark : looked.remarks) print_text(stderr, "{}: {}\n", file, remark);
    }
    return texts;
}

void settle(config::PointSettings& settings, const std::string& text) {
    if (text.find(' ') != std::string::npos) {  // a card
        const size_t after_engine = text.find(kAfterEngine);
        const bool names_engine = after_engine != std::string::npos;
        if (names_engine && settings.engine.is_automatic)  // another one that the user named refuses the file
            settings.engine = parse_enum<EngineKind>(text.substr(0, after_engine));
        settings.network.card =
            network::parse_network_card(names_engine ? text.substr(after_engine + kAfterEngine.size()) : text);
        return;
    }
    settings.weights = settings.network.file;
    settings.network = parse_enum<network::NetworkKind>(text);
}

void settle_all(const std::vector<config::PointSettings*>& points, const std::vector<std::string>& texts) {
    const auto files = files_of(points);
    for (config::PointSettings* point : points) {
        const auto place = std::find_if(files.begin(), files.end(),
                                        [&](const auto& each) { return each.first == point->network.file; });
        if (point->network.is_brought()) settle(*point, texts.at(static_cast<size_t>(place - files.begin())));
    }
}

}  // namespace

fs::path card_file(const fs::path& network) { return network.string() + ".card.yaml"; }

LookedAt look_at_network(const fs::path& file, const LookOptions& look) {
    check_format(file);
    if (const auto known = engine::known_network(file))
        return {known, {}, {}, {}, "weights of " + std::string(name_of(*known))};
    if (engine::is_code(file) && !look.trusts_model)
        throw UsageError(file.string() + ": is code, which would run as you: add --trust-model where you trust it");
    const auto sole = engine::sole_engine_of(file);
    if (look.reads_card)
        if (auto card = read_card(file)) {
            card->sole_engine = sole;
            return *card;
        }
    const engine::EngineOptions options = trial_options(file, look.engine, sole);
    network::FoundCard found = engine::try_network(file, options);
    return {{},
            found.card,
            std::move(found.remarks),
            sole,
            fmt::format("found by trying {} windows in {}", found.num_trials, name_of(options.engine))};
}

fs::path save_card(const fs::path& network, const LookedAt& looked) {
    std::string text = fmt::format(
        "# What tiling must know of {}, {}.\n"
        "# A value may be corrected; without the line sha256 the card holds whatever the file contains.\n",
        network.filename().string(), looked.origin);
    for (const std::string& remark : looked.remarks) text += "# " + remark + "\n";
    text += "sha256: " + sha256_of_file(network) + "\n";
    for (const auto& [name, value] : network::values_of(looked.card)) text += fmt::format("{}: {}\n", name, value);
    fs::path file = card_file(network);
    write_whole(file, text);
    return file;
}

void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model) {
    settle_all(points, look_at_all(points, trusts_model));
}

void settle_networks(const std::vector<config::PointSettings*>& points, bool trusts_model,
                     const comm::Communicator& world) {
    std::vector<std::string> texts(files_of(points).size());
    if (texts.empty()) return;
    const run::Attempt mine = run::attempt([&] {
        if (world.is_root()) texts = look_at_all(points, trusts_model);
    });
    world.sleeping_barrier();  // the root's engine has the cores
    run::agree_on(world, mine);
    for (std::string& text : texts) text = world.broadcast(text);
    settle_all(points, texts);
}

void take_network_of_weights(const comm::Communicator& world, config::PointSettings& settings) {
    network::NetworkKind network = settings.network;
    run::together(world, [&] {
        if (world.is_root()) network = run::network_in(settings.weights).value_or(network);
    });
    settings.network = parse_enum<network::NetworkKind>(world.broadcast(std::string(name_of(network))));
}

std::vector<config::PointSettings*> points_of(config::Config& config) {
    std::vector<config::PointSettings*> points;
    points.reserve(config.points.size());
    for (config::PointSettings& point : config.points) points.push_back(&point);
    return points;
}

}  // namespace pb::app
