#include "config/settings_access.hpp"

#include "config/text.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace pb::config {
namespace {

const SettingHelp& setting(const std::vector<SettingHelp>& all, const std::string& key) {
    const auto found = std::ranges::find(all, key, &SettingHelp::key);
    if (found == all.end()) throw UsageError("not listed: " + key);
    return *found;
}

void set_any_key(const SettingHelp& help, const std::string& text) {
    PointSettings point;
    StudySettings study;
    if (help.group == SettingGroup::study)
        set_by_key(study, help.key, text);
    else
        set_by_key(point, help.key, text);
}

TEST(UnknownKey, OneThatIsKnownElsewhereIsSaidSo) {
    using testing::HasSubstr;
    EXPECT_THAT(unknown_key("image.patch"), HasSubstr("'patch' stands by itself, not below 'image'"));
    EXPECT_THAT(unknown_key("patch 64"), HasSubstr("a ':' is missing after 'patch'"));
    EXPECT_THAT(unknown_key("image.pathc"), HasSubstr("did you mean 'image.path'?"));
    EXPECT_THAT(unknown_key("pathc 64"), testing::Not(HasSubstr("is missing")));
}

TEST(UnknownKey, MayBeMeantAsOneOfTheStudy) {
    EXPECT_THAT(unknown_key("watchdog"), testing::HasSubstr("'watchdog_s'"));
}

TEST(Settings, AreCheckedBeyondTheirRanges) {
    PointSettings point;
    point.image.channels = 2;
    EXPECT_THAT(usage_error([&] { validate(point); }), testing::StartsWith("image.channels = 2"));
    StudySettings study;
    study.name = "a/b";
    EXPECT_THAT(usage_error([&] { validate(study); }), testing::StartsWith("name = 'a/b'"));
}

TEST(Settings, OfManyDigitsAreStatedInGreyLevelsWhereThoseAreShort) {
    PointSettings point;
    const auto stated = [&](double level) {
        point.image.noise_sigma = level;
        return setting(all_settings(point, {}), "image.noise_sigma").value;
    };
    EXPECT_EQ(stated(12.345 / 255), "12.345/255");
    EXPECT_EQ(stated(0.002), "0.002");
    EXPECT_EQ(stated(0.123456789), "0.123456789");
}

TEST(Settings, ListEveryKeyThatAStudyMayHaveOnce) {
    std::vector<std::string> listed;
    for (const auto& each : all_settings()) listed.push_back(each.key);
    std::vector<std::string> known = point_keys();
    known.insert(known.end(), study_keys().begin(), study_keys().end());
    EXPECT_EQ(listed, known);
}

TEST(Settings, SayMeaningAndADefaultThatReadsBack) {
    for (const auto& each : all_settings()) {
        EXPECT_FALSE(each.meaning.empty()) << each.key;
        EXPECT_FALSE(each.shape.empty()) << each.key;
        EXPECT_TRUE(each.is_text || !each.value.empty()) << each.key;
        EXPECT_NO_THROW(set_any_key(each, each.value)) << each.key << ": " << each.value;
    }
}

TEST(Settings, SayTheRangeThatHolds) {
    int num_ranges = 0;
    for (const auto& each : all_settings()) {
        if (each.range.empty()) continue;
        ++num_ranges;
        const std::string high = each.range.substr(each.range.find(" to ") + 4);
        const std::string number = high.substr(0, high.find(' '));
        double largest = 0;
        parse_setting(number, largest);
        EXPECT_NO_THROW(set_any_key(each, number)) << each.key;
        const std::string beyond = format_setting(std::floor(largest) + 1);
        EXPECT_THAT(usage_error([&] { set_any_key(each, beyond); }), names(each.key, number)) << each.key;
        EXPECT_TRUE(each.unit.empty() || each.unit.front() == '[' || each.range.ends_with(each.unit)) << each.key;
    }
    EXPECT_GT(num_ranges, 30);
}

TEST(Settings, SayGroupUnitAndTheValuesOfTheirOwner) {
    const auto all = all_settings();
    EXPECT_EQ(setting(all, "patch").group, SettingGroup::work);
    EXPECT_EQ(setting(all, "patch").unit, "px");
    EXPECT_EQ(setting(all, "patch").value, "256");
    EXPECT_EQ(setting(all, "stop.max_time_s").group, SettingGroup::protocol);
    EXPECT_EQ(setting(all, "stop.max_time_s").unit, "s");
    EXPECT_EQ(setting(all, "watchdog_s").group, SettingGroup::study);
    EXPECT_EQ(setting(all, "last_batch").shape, "pad | ragged");
    EXPECT_TRUE(setting(all, "image.path").is_text);
    EXPECT_FALSE(setting(all, "network").is_text);
    PointSettings point;
    point.patch = 64;
    point.protocol.min_reps = 7;
    StudySettings study;
    study.name = "mine";
    const auto changed = all_settings(point, study);
    EXPECT_EQ(setting(changed, "patch").value, "64");
    EXPECT_EQ(setting(changed, "stop.min_reps").value, "7");
    EXPECT_EQ(setting(changed, "name").value, "mine");
    EXPECT_EQ(help_by_key(point, "patch").value, "64");
    EXPECT_THAT(usage_error([&] { (void)help_by_key(point, "watchdog_s"); }), testing::HasSubstr("watchdog_s"));
}

}  // namespace
}  // namespace pb::config
