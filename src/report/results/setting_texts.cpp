#include "report/results/setting_texts.hpp"

#include "config/text.hpp"

namespace pb::report {

namespace {

/// Returns a visitor that collects the fields it is given.
auto into(SettingTexts& texts) {
    return [&texts](const config::FieldName& field, const auto& value) {
        texts.emplace_back(field.key, config::format_setting(value));
    };
}

}  // namespace

SettingTexts work_texts(const RecordedPoint& point) {
    config::PointSettings settings = point.trace.point.settings;
    settings.ranks.count = point.trace.point.num_ranks;
    SettingTexts texts;
    config::work_fields(std::as_const(settings), into(texts));
    return texts;
}

SettingTexts protocol_texts(const RecordedPoint& point) {
    SettingTexts texts;
    config::protocol_fields(point.trace.point.settings.protocol, into(texts));
    return texts;
}

}  // namespace pb::report
