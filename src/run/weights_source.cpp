#include "run/weights_source.hpp"

#include "base/fault.hpp"
#include "base/text.hpp"
#include "base/user_paths.hpp"
#include "config/text.hpp"
#include "engine/network_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace pb::run {

namespace fs = std::filesystem;

namespace {

constexpr int64_t kColour = 3;

fs::path default_file(network::NetworkKind network, int64_t channels) {
    if (const auto file = find_default_weights(network, channels)) return *file;
    const bool are_published = std::ranges::any_of(read_model_card(network), [&](const config::ModelWeights& entry) {
        return entry.channels == channels && !entry.url.empty();
    });
    throw UsageError(
        fmt::format("no weights for {} with {} in '{}': {}name a file with `weights` (denoise: --weights), or use "
                    "seed:<n> (untrained, for speed only)",
                    name_of(network), counted(channels, "image channel"), models_folder().string(),
                    are_published ? "fetch the official ones with models/get_weights.sh, " : "none are published; "));
}

/// Whether an entry of a model card is about weights from `file`. Where the card does not know the digest of a file,
/// its name in the folder of the card decides.
bool is_about(const config::ModelWeights& entry, const fs::path& file, const engine::Weights& weights) {
    if (!entry.sha256.empty()) return entry.sha256 == weights.sha256;
    std::error_code missing;
    return !entry.file.empty() && fs::equivalent(file, models_folder() / entry.file, missing);
}

/// Adds the noise of the training from the model card; checkpoints rarely contain it. The card knows the network, too.
void add_card_facts(engine::Weights& weights, const fs::path& file) {
    const bool says_noise = weights.trained_sigma || weights.most_sigma;
    if (says_noise && weights.guess.empty()) return;
    for (const auto& entry : read_model_card(weights.kind())) {
        if (!is_about(entry, file, weights)) continue;
        weights.guess.clear();
        if (says_noise) continue;
        if (entry.sigma_train > 0) weights.trained_sigma = entry.sigma_train;
        if (entry.sigma_most > 0) weights.most_sigma = entry.sigma_most;
    }
}

void state_sigma(engine::Weights& weights, double sigma) {
    if (weights.trained_sigma && *weights.trained_sigma != sigma) weights.replaced_sigma = weights.trained_sigma;
    weights.trained_sigma = sigma;
}

/// Changes the weights, as a planted fault for the tests (base/fault.hpp).
void spoil(engine::Weights& weights, const std::string& action) {
    if (action != "change") refuse_fault(action);
    for (auto& [name, convolution] : weights.convolutions)
        for (float& value : convolution.weight) value *= 1.01F;
}

}  // namespace

fs::path models_folder() {
    if (const std::string named = environment_value("PATCHBENCH_MODELS"); !named.empty()) return named;
    if (const auto folder = find_folder_with("models/dncnn.yaml")) return *folder / "models";
    throw UsageError("no folder 'models' beside '" + program_folder().string() + "': set PATCHBENCH_MODELS to it");
}

std::vector<config::ModelWeights> read_model_card(network::NetworkKind network) {
    return config::load_model_card(models_folder() / (std::string(name_of(network)) + ".yaml"));
}

std::optional<fs::path> find_default_weights(network::NetworkKind network, int64_t channels) {
    const fs::path folder = models_folder();
    for (const auto& entry : read_model_card(network))
        if (!entry.file.empty() && entry.channels == channels && fs::exists(folder / entry.file))
            return folder / entry.file;
    return std::nullopt;
}

engine::Weights find_weights(const config::PointSettings& settings, std::optional<int64_t> channels) {
    if (settings.network.is_custom())
        return engine::custom_network(settings.network.file, settings.network.card.value());
    const network::NetworkKind network = settings.network.kind;
    const std::string& setting = settings.weights;
    if (config::is_seed(setting))
        return engine::make_seeded_weights(network, channels.value_or(kColour), config::seed_of(setting));
    const fs::path file =
        config::names_weights_file(setting) ? fs::path(setting) : default_file(network, channels.value_or(kColour));
    engine::Weights weights = engine::load_weights(file, network);
    if (channels && weights.channels() != *channels)
        throw UsageError(
            fmt::format("weights '{}' are for {}, the image has {}: name weights for this kind of image, or "
                        "convert the image",
                        file.string(), counted(weights.channels(), "image channel"), *channels));
    add_card_facts(weights, file);
    return weights;
}

std::string weights_key(const config::PointSettings& settings, int64_t channels) {
    return fmt::format("{}\n{}\n{}", config::format_setting(settings.network), settings.weights, channels);
}

std::vector<fs::path> weights_files(const config::PointSettings& settings) {
    constexpr int64_t kGrey = 1;
    if (settings.network.is_custom()) return engine::files_of_network(settings.network.file);
    if (config::is_seed(settings.weights)) return {};
    if (settings.weights != config::kDefaultWeights) return engine::files_of_network(settings.weights);
    std::vector<fs::path> files;
    for (const int64_t channels : {kGrey, kColour})
        if (auto file = find_default_weights(settings.network.kind, channels)) files.push_back(std::move(*file));
    return files;
}

std::optional<network::NetworkKind> network_in(const std::string& setting) {
    if (!config::names_weights_file(setting)) return std::nullopt;
    return engine::network_in_file(setting);
}

std::optional<network::NetworkShape> WeightsCache::shape_of(const config::PointSettings& settings, int64_t channels) {
    if (config::is_seed(settings.weights) || settings.network.is_custom()) return std::nullopt;
    try {
        return find(settings, channels)->shape;
    } catch (const UsageError&) {
        return std::nullopt;
    }
}

std::string WeightsCache::digest_of(const engine::Weights& weights) const {
    const auto found = std::ranges::find_if(kept_, [&](const Kept& each) { return each.weights.get() == &weights; });
    return found != kept_.end() ? found->digest : engine::sha256_of_values(weights);
}

std::string WeightsCache::key_of(const config::PointSettings& settings, int64_t channels) const {
    std::string key = weights_key(settings, channels) + "\n" + config::format_setting(settings.trained_sigma);
    if (!settings.network.is_custom() && settings.weights == config::kDefaultWeights)
        return key;  // files in `models` stay
    const std::string& file = settings.network.is_custom() ? settings.network.file : settings.weights;
    const std::string version = file + "\n" + file_version(file);
    auto files = files_.find(version);
    if (files == files_.end()) files = files_.emplace(version, weights_files(settings)).first;  // parses an ONNX model
    for (const fs::path& each : files->second) key += "\n" + file_version(each);
    return key;
}

bool WeightsCache::is_current(const engine::Weights& weights, const config::PointSettings& settings,
                              int64_t channels) const {
    try {
        const auto found = std::ranges::find(kept_, key_of(settings, channels), &Kept::key);
        return found != kept_.end() && found->weights.get() == &weights;
    } catch (const UsageError&) {  // what is there now is no model, or a file beside it is gone
        return false;
    }
}

std::shared_ptr<const engine::Weights> WeightsCache::find(const config::PointSettings& settings, int64_t channels) {
    const std::string key = key_of(settings, channels);
    const auto found = std::ranges::find(kept_, key, &Kept::key);
    if (found != kept_.end()) {
        std::rotate(found, found + 1, kept_.end());
        return kept_.back().weights;
    }
    if (kept_.size() >= most_) kept_.erase(kept_.begin());
    engine::Weights weights = find_weights(settings, channels);
    if (!settings.trained_sigma.is_automatic()) state_sigma(weights, settings.trained_sigma.level);
    if (const auto fault = meet_value_fault("weights")) spoil(weights, *fault);
    std::string digest = engine::sha256_of_values(weights);
    kept_.push_back({key, std::move(digest), std::make_shared<const engine::Weights>(std::move(weights))});
    return kept_.back().weights;
}

}  // namespace pb::run
