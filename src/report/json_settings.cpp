#include "report/json_settings.hpp"

#include "config/text.hpp"

#include <algorithm>

namespace pb {

namespace {

/// Turns "image.noise_sigma" into the JSON pointer /image/noise_sigma.
Json::json_pointer place_of(const FieldName& field) {
    std::string path = "/";
    path += field.key;
    std::replace(path.begin(), path.end(), '.', '/');
    return Json::json_pointer(path);
}

}  // namespace

Json setting_value(const std::string& value) { return value; }
Json setting_value(int64_t value) { return value; }
Json setting_value(uint64_t value) { return value; }
Json setting_value(double value) { return value; }
Json setting_value(bool value) { return value; }

Json setting_value(const HaloSetting& value) {
    if (value.kind == HaloSetting::Kind::pixels) return value.pixels;
    return format_setting(value);
}

Json setting_value(const EngineSetting& value) { return format_setting(value); }

Json setting_value(const CountSetting& value) {
    if (!value.is_automatic()) return value.count;
    return format_setting(value);
}

Json setting_value(const NoiseLevelSetting& value) {
    if (!value.is_automatic()) return value.level;
    return format_setting(value);
}

Json setting_value(const BatchSetting& value) {
    if (!value.is_open()) return value.count;
    return format_setting(value);
}

Json settings_json(const PointSettings& settings) {
    Json all;
    point_fields(settings,
                 [&](const FieldName& field, const auto& value) { all[place_of(field)] = setting_value(value); });
    return all;
}

Json settings_json(const StudySettings& settings) {
    Json all;
    study_fields(settings,
                 [&](const FieldName& field, const auto& value) { all[place_of(field)] = setting_value(value); });
    return all;
}

}  // namespace pb
