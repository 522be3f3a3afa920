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

SettingTexts work_texts(const plan::Point& point) {
    config::PointSettings settings = point.settings;
    settings.ranks.count = point.num_ranks;
    SettingTexts texts;
    config::work_fields(std::as_const(settings), into(texts));
    return texts;
}

SettingTexts protocol_texts(const plan::Point& point) {
    SettingTexts texts;
    config::protocol_fields(point.settings.protocol, into(texts));
    return texts;
}

std::vector<SettingDifference> differences(const SettingTexts& here, const SettingTexts& there) {
    std::vector<SettingDifference> all;
    for (size_t i = 0; i < here.size(); ++i)
        if (here[i].second != there[i].second) all.push_back({here[i].first, here[i].second, there[i].second});
    return all;
}

}  // namespace pb::report
