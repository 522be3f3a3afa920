// Gives the settings of a point as text, to tell points apart.
#pragma once

#include "plan/plan.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pb::report {

/// Keys and values; always the same keys in the same order.
using SettingTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns the settings that decide what is measured, among them the number of ranks. Points that differ in them are
/// not compared.
[[nodiscard]] SettingTexts work_texts(const plan::Point& point);

/// Returns the settings that decide how it is measured.
[[nodiscard]] SettingTexts protocol_texts(const plan::Point& point);

/// One field in which two points differ, with both values as text.
struct SettingDifference {
    std::string key, here, there;
};
[[nodiscard]] std::vector<SettingDifference> differences(const SettingTexts& here, const SettingTexts& there);

}  // namespace pb::report
