// What the metadata of a weights file say of the noise that the network was trained for.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace pb::engine {

using Metadata = std::map<std::string, std::string>;

/// The one level, in [0,1] units: `sigma_train` or `sigma`. Both words are in use; where a file has both, they must
/// agree. Throws UsageError that names `source`.
[[nodiscard]] std::optional<double> trained_sigma(const Metadata& metadata, const std::string& source);

/// The end of `sigma_range: <a> to <b>`, in [0,1] units. None where the metadata have none that reads so.
[[nodiscard]] std::optional<double> most_sigma(const Metadata& metadata);

}  // namespace pb::engine
