// From the setting `weights` to weights in memory: a file, `seed:<n>`, or `default`, which is the first entry of the
// model card models/<network>.yaml whose file lies beside it.
#pragma once

#include "config/settings.hpp"

#include "patchbench/base/network_kind.hpp"
#include "patchbench/engine/weights.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace pb {

/// The folder `models`: $PATCHBENCH_MODELS, or beside the program's folder. Throws UsageError when there is none.
[[nodiscard]] std::filesystem::path models_folder();

/// Throws UsageError that says where weights can be had. `channels` is the image's: seeded weights are made for it, and
/// a file must fit it; without, a file may be for any, and the others are for colour images. A file that the model card
/// knows by its sha256 gets the card's sigma_train.
[[nodiscard]] Weights find_weights(NetworkKind network, const std::string& setting, std::optional<int64_t> channels);

/// Keeps the last weights, so that a study of many points on one network loads them once.
class WeightsCache {
  public:
    /// Those of the settings, whose trained_sigma holds before what the weights or their card say.
    [[nodiscard]] std::shared_ptr<const Weights> find(const PointSettings& settings, int64_t channels);
    /// The shape of the network in the weights file; none for seeded weights and for a file that cannot be read, which
    /// `find` then reports.
    [[nodiscard]] std::optional<NetworkShape> shape_of(const PointSettings& settings, int64_t channels);
    /// `sha256_of_values` of the last weights: what networks on this rank were built from.
    [[nodiscard]] const std::string& digest() const { return digest_; }

  private:
    std::string key_, digest_;
    std::shared_ptr<const Weights> weights_;
};

}  // namespace pb
