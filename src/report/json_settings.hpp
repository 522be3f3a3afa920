// Writes settings as JSON values of their own type, nested at the dots of their keys, so that the result has the
// structure of the YAML file.
#pragma once

#include "config/settings.hpp"
#include "record/json.hpp"

#include <string>

namespace pb {

[[nodiscard]] Json setting_value(const std::string& value);
[[nodiscard]] Json setting_value(int64_t value);
[[nodiscard]] Json setting_value(uint64_t value);
[[nodiscard]] Json setting_value(double value);
[[nodiscard]] Json setting_value(bool value);
[[nodiscard]] Json setting_value(const HaloSetting& value);        // pixels, "exact" or "auto"
[[nodiscard]] Json setting_value(const EngineSetting& value);      // its name, with the file of python
[[nodiscard]] Json setting_value(const CountSetting& value);       // a count or its word
[[nodiscard]] Json setting_value(const BatchSetting& value);       // a count, "auto" or "largest"
[[nodiscard]] Json setting_value(const NoiseLevelSetting& value);  // a level or "auto"
template <NamedEnum E>
[[nodiscard]] Json setting_value(E value) {
    return name_of(value);
}

[[nodiscard]] Json settings_json(const PointSettings& settings);
[[nodiscard]] Json settings_json(const StudySettings& settings);

}  // namespace pb
