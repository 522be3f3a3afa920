// Gives the settings of a recorded point as text, to tell points apart.
#pragma once

#include "report/results/results_file.hpp"

#include <string>
#include <utility>
#include <vector>

namespace pb::report {

/// Keys and values; always the same keys in the same order.
using SettingTexts = std::vector<std::pair<std::string, std::string>>;

/// Returns the settings that decide what is measured, among them the number of ranks. Points that differ in them are
/// not compared.
[[nodiscard]] SettingTexts work_texts(const RecordedPoint& point);

/// Returns the settings that decide how it is measured.
[[nodiscard]] SettingTexts protocol_texts(const RecordedPoint& point);

}  // namespace pb::report
