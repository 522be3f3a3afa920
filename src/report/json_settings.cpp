#include "report/json_settings.hpp"

#include "config/text.hpp"

#include <algorithm>

namespace pb::report {

namespace {

/// Turns "image.noise_sigma" into the JSON pointer /image/noise_sigma.
record::Json::json_pointer place_of(const config::FieldName& field) {
    std::string path = "/";
    path += field.key;
    std::replace(path.begin(), path.end(), '.', '/');
    return record::Json::json_pointer(path);
}

}  // namespace

record::Json setting_value(const std::string& value) { return value; }
record::Json setting_value(int64_t value) { return value; }
record::Json setting_value(uint64_t value) { return value; }
record::Json setting_value(double value) { return value; }
record::Json setting_value(bool value) { return value; }

record::Json setting_value(const config::HaloSetting& value) {
    if (value.kind == config::HaloSetting::Kind::pixels) return value.pixels;
    return config::format_setting(value);
}

record::Json setting_value(const config::NetworkSetting& value) { return config::format_setting(value); }

record::Json setting_value(const config::EngineSetting& value) { return config::format_setting(value); }

record::Json setting_value(const config::CountSetting& value) {
    if (!value.is_automatic()) return value.count;
    return config::format_setting(value);
}

record::Json setting_value(const config::NoiseLevelSetting& value) {
    if (!value.is_automatic()) return value.level;
    return config::format_setting(value);
}

record::Json setting_value(const config::BatchSetting& value) {
    if (!value.is_open()) return value.count;
    return config::format_setting(value);
}

record::Json settings_json(const config::PointSettings& settings) {
    record::Json all;
    config::point_fields(settings, [&](const config::FieldName& field, const auto& value) {
        all[place_of(field)] = setting_value(value);
    });
    return all;
}

record::Json settings_json(const config::StudySettings& settings) {
    record::Json all;
    config::study_fields(settings, [&](const config::FieldName& field, const auto& value) {
        all[place_of(field)] = setting_value(value);
    });
    return all;
}

}  // namespace pb::report
