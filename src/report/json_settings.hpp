// Writes settings as JSON values of their own type, nested at the dots of their keys, so that the result has the
// structure of the YAML file.
#pragma once

#include "config/settings.hpp"
#include "record/json.hpp"

#include <string>

namespace pb::report {

[[nodiscard]] record::Json setting_value(const std::string& value);
[[nodiscard]] record::Json setting_value(int64_t value);
[[nodiscard]] record::Json setting_value(uint64_t value);
[[nodiscard]] record::Json setting_value(double value);
[[nodiscard]] record::Json setting_value(bool value);
[[nodiscard]] record::Json setting_value(const config::HaloSetting& value);        // pixels, or a word
[[nodiscard]] record::Json setting_value(const config::NetworkSetting& value);     // its name or its file
[[nodiscard]] record::Json setting_value(const config::EngineSetting& value);      // its name, with the file of python
[[nodiscard]] record::Json setting_value(const config::CountSetting& value);       // a count or its word
[[nodiscard]] record::Json setting_value(const config::BatchSetting& value);       // a count, "auto" or "largest"
[[nodiscard]] record::Json setting_value(const config::NoiseLevelSetting& value);  // a level or "auto"
template <NamedEnum E>
[[nodiscard]] record::Json setting_value(E value) {
    return name_of(value);
}

[[nodiscard]] record::Json settings_json(const config::PointSettings& settings);
[[nodiscard]] record::Json settings_json(const config::StudySettings& settings);

}  // namespace pb::report
