// What the metadata of a weights file say of the noise that the network was trained for.
#pragma once

#include "patchbench/engine/weights.hpp"

#include <map>
#include <string>

namespace pb::engine {

using Metadata = std::map<std::string, std::string>;

/// Sets what `metadata` of the file `weights.source` say of it, in [0,1] units: `trained_sigma` from `sigma_train` or
/// `sigma` (both words are in use; where a file has both, they must agree) and `most_sigma` from the end of
/// `sigma_range: <a> to <b>`. Throws UsageError that names the file for an impossible level.
void take_training_noise(const Metadata& metadata, Weights& weights);

/// Returns the metadata from which take_training_noise() reads the same.
[[nodiscard]] Metadata training_noise_of(const Weights& weights);

}  // namespace pb::engine
