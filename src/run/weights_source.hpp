// Loads the weights that the setting `weights` names: a file, `seed:<n>`, or `default`. The default is the first entry
// of the model card models/<network>.yaml whose file exists beside the card.
#pragma once

#include "config/load_yaml.hpp"
#include "config/settings.hpp"
#include "plan/plan.hpp"

#include "patchbench/engine/weights.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pb::run {

/// Returns the folder `models`: $PATCHBENCH_MODELS, or the one beside the program's folder. Throws UsageError when
/// there is none.
[[nodiscard]] std::filesystem::path models_folder();

/// The weights of a network that its model card names, here or not.
[[nodiscard]] std::vector<config::ModelWeights> read_model_card(network::NetworkKind network);

/// Returns the file that the setting `default` names for images of so many channels; nothing where there is none.
[[nodiscard]] std::optional<std::filesystem::path> find_default_weights(network::NetworkKind network, int64_t channels);

/// Throws UsageError that says where to find weights. `channels` is the image's: seeded weights are made for it, and a
/// file must fit it. Without `channels`, a file for any number of channels is accepted, and seeded weights are made for
/// colour images. A file that the model card lists gets the card's sigma_train and sigma_most.
[[nodiscard]] engine::Weights find_weights(const config::PointSettings& settings, std::optional<int64_t> channels);

/// Tells weights apart, as far as settings do.
[[nodiscard]] std::string weights_key(const config::PointSettings& settings, int64_t channels);

/// The files that the weights of a point may come from: none for seeds, those for gray and colour images for `default`,
/// for an ONNX model those beside it, too. Throws UsageError where such a model cannot be read.
[[nodiscard]] std::vector<std::filesystem::path> weights_files(const config::PointSettings& settings);

/// Returns the network that the file in the setting `weights` holds; nothing for `default` and seeds. Throws UsageError
/// when the file cannot be read.
[[nodiscard]] std::optional<network::NetworkKind> network_in(const std::string& setting);

/// Keeps the last weights, so that a study of many points on one network loads them once.
class WeightsCache {
  public:
    /// Keeps the last `most` weights from now on.
    void keep(size_t most) { most_ = most; }
    /// Returns the weights of the settings. Their trained_sigma replaces that of the weights or their card.
    [[nodiscard]] std::shared_ptr<const engine::Weights> find(const config::PointSettings& settings, int64_t channels);
    /// Whether `find` would return these `weights` again, which it returned before: their file was not replaced since.
    [[nodiscard]] bool is_current(const engine::Weights& weights, const config::PointSettings& settings,
                                  int64_t channels) const;
    /// Returns the shape of the network in the weights file, or nothing for seeded weights and for a file that cannot
    /// be read; `find` then reports the error.
    [[nodiscard]] std::optional<network::NetworkShape> shape_of(const config::PointSettings& settings,
                                                                int64_t channels);
    /// `shape_of` for a plan; the cache must outlive it.
    [[nodiscard]] plan::NetworkLookup lookup() {
        return [this](const auto& settings, int64_t channels) { return shape_of(settings, channels); };
    }
    /// `sha256_of_values` of the last weights, from which the networks on this rank were built.
    [[nodiscard]] const std::string& digest() const { return kept_.back().digest; }
    /// The same of weights that were found earlier.
    [[nodiscard]] std::string digest_of(const engine::Weights& weights) const;

  private:
    struct Kept {
        std::string key, digest;
        std::shared_ptr<const engine::Weights> weights;
    };

    /// The same for the same weights in the same version of their files. Throws as weights_files.
    [[nodiscard]] std::string key_of(const config::PointSettings& settings, int64_t channels) const;

    size_t most_ = 1;
    std::vector<Kept> kept_;                                                   // the last one used is last
    mutable std::map<std::string, std::vector<std::filesystem::path>> files_;  // of each version of a file
};

}  // namespace pb::run
