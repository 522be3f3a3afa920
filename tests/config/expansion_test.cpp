// Ranges, zipped axes, exclusions and presets.
#include "config/settings_access.hpp"
#include "yaml_file.hpp"

#include <gmock/gmock.h>

namespace pb::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// "patch halo batch" of every point.
std::vector<std::string> points(const Config& config) {
    std::vector<std::string> all;
    all.reserve(config.points.size());
    for (const PointSettings& point : config.points)
        all.push_back(text_by_key(point, "patch") + " " + text_by_key(point, "halo") + " " +
                      text_by_key(point, "batch"));
    return all;
}

class Sweep : public YamlFile {
  protected:
    std::vector<std::string> loaded(const std::string& text, const std::vector<std::string>& overrides = {}) {
        return points(load("halo: none\n" + text, overrides));
    }
};

TEST_F(Sweep, RangesAreLists) {
    EXPECT_THAT(loaded("patch: {from: 8, to: 24, step: 8}\n"), ElementsAre("8 none 4", "16 none 4", "24 none 4"));
    EXPECT_THAT(loaded("patch: {from: 8, to: 23, step: 8}\n"), ElementsAre("8 none 4", "16 none 4"));
    EXPECT_THAT(loaded("batch: {from: 3, to: 13, factor: 2}\n"),
                ElementsAre("256 none 3", "256 none 6", "256 none 12"));
    EXPECT_THAT(loaded("patch: [4, {from: 8, to: 16, step: 8}, {from: 5, to: 5, factor: 9}]\n"),
                ElementsAre("4 none 4", "8 none 4", "16 none 4", "5 none 4"));
    EXPECT_THAT(loaded("", {"batch={from: 1, to: 4, factor: 2}"}),
                ElementsAre("256 none 1", "256 none 2", "256 none 4"));
    const auto widths = load("image: {width: {from: 1024, to: 2048, step: 68}}\n").points;
    ASSERT_EQ(widths.size(), 16U);
    EXPECT_EQ(widths[3].image.width, 1228);
    EXPECT_EQ(widths[4].image.width, 1296);
}

TEST_F(Sweep, WrongRangesSayTheirPlace) {
    EXPECT_THAT(refusal("patch: {from: 8, to: 16, stpe: 8}\n"), names(":1:26: patch: ", "'stpe'", "'step'"));
    EXPECT_THAT(refusal("patch: {from: 8, to: 16}\n"), names(":1:8: patch: ", "{from: 64"));
    EXPECT_THAT(refusal("patch: {from: 8, to: 16, step: 8, factor: 2}\n"), names(":1:8: patch: ", "{from: 64"));
    EXPECT_THAT(refusal("patch: {from: 16, to: 8, step: 8}\n"), names(":1:8: patch: ", "from 0"));
    EXPECT_THAT(refusal("patch: {from: 8, to: 9223372036854775807, step: 9223372036854775807}\n"),
                names(":1:8: patch: ", "ends at 9007199254740992 at most"));
    EXPECT_THAT(refusal("patch: {from: 8, to: 16, step: 0}\n"), names(":1:8: patch: ", "step "));
    EXPECT_THAT(refusal("batch: {from: 1, to: 16, factor: 1}\n"), names(":1:8: batch: ", "factor "));
    EXPECT_THAT(refusal("batch: {from: 0, to: 16, factor: 2}\n"), names(":1:8: batch: ", "from 1"));
    EXPECT_THAT(refusal("patch: {from: x, to: 16, step: 8}\n"), StartsWith(":1:15: patch, from: 'x'"));
    EXPECT_THAT(refusal("patch: {from: 0, to: 16, step: 8}\n"), StartsWith(":1:8: patch = 0: "));
    EXPECT_THAT(refusal("network: {from: 0, to: 16, step: 8}\n"), StartsWith(":1:10: network: '0'"));
    EXPECT_THAT(refusal("name: {from: 0, to: 16, step: 8}\n"), StartsWith(":1:1: name: "));
}

TEST_F(Sweep, HugeRangesAreBounded) {
    EXPECT_THAT(refusal("image.seed: {from: 0, to: 9000000000000000, step: 1}\n"),
                names(":1:13: image.seed: ", "200000"));
    EXPECT_THAT(refusal("image.seed: {from: 0, to: 9223372036854775807, step: 1}\n"),
                StartsWith(":1:13: image.seed: "));
    EXPECT_THAT(loaded("batch: {from: 1, to: 3, step: 9223372036854775807}\n"), ElementsAre("256 none 1"));
    EXPECT_THAT(loaded("batch: {from: 1, to: 3, factor: 9223372036854775807}\n"), ElementsAre("256 none 1"));
    EXPECT_THAT(loaded("batch: {from: 2, to: 3, factor: 9223372036854775807}\n"), ElementsAre("256 none 2"));
}

TEST_F(Sweep, GroupsAreBoundedTogether) {
    EXPECT_THAT(refusal("groups: [{patch: 8}, {batch: {from: 1, to: 100, step: 1}, "
                        "image.seed: {from: 1, to: 1000, step: 1}}]\n"),
                HasSubstr("100001 points"));
    EXPECT_THAT(refusal("batch: [1, 2]\npatch: {from: 1, to: 60000, step: 1}\n"), StartsWith(":2:1: "))
        << "the last of its axes";
    EXPECT_THAT(refusal("groups: [{patch: [8, 16], exclude: [{patch: 16}]}, {batch: [1, 2, 3], "
                        "image.seed: {from: 1, to: 33333, step: 1}}]\n"),
                HasSubstr("100001 points"))
        << "one that is excluded takes time, too";
}

TEST_F(Sweep, ZippedListsAreOneAxis) {
    EXPECT_THAT(points(load("zip: {patch: [64, 128], halo: [8, 16]}\nbatch: [1, 2]\n")),
                ElementsAre("64 8 1", "64 8 2", "128 16 1", "128 16 2"));
    EXPECT_THAT(points(load("batch: [1, 2]\nzip:\n- {patch: {from: 64, to: 128, factor: 2}, halo: [8, 16]}\n"
                            "- {image: {height: [9, 8], width: [7, 6]}}\n")),
                ElementsAre("64 8 1", "64 8 1", "128 16 1", "128 16 1", "64 8 2", "64 8 2", "128 16 2", "128 16 2"));
    const auto images = load("zip: {image: {height: [9, 8], width: [7, 6]}}\n").points;
    ASSERT_EQ(images.size(), 2U);
    EXPECT_EQ(images[1].image.height, 8);
    EXPECT_EQ(images[1].image.width, 6);
}

TEST_F(Sweep, AGroupOrAnOverrideTakesASettingOutOfTheZip) {
    const std::string study = "zip: {patch: [64, 128], halo: [8, 16]}\nbatch: 1\ngroups: [{patch: 32}, {batch: 2}]\n";
    EXPECT_THAT(points(load(study)), ElementsAre("32 8 1", "32 16 1", "64 8 2", "128 16 2"));
    EXPECT_THAT(points(load(study, {"halo=none"})), ElementsAre("32 none 1", "64 none 2", "128 none 2"));
    EXPECT_THAT(points(load("patch: [8, 16, 24]\nhalo: none\ngroups: [{zip: {patch: [1, 2], batch: [3, 4]}}]\n")),
                ElementsAre("1 none 3", "2 none 4"));
}

TEST_F(Sweep, WrongZipsSayTheirPlace) {
    EXPECT_THAT(refusal("zip: {patch: [64, 128], halo: [8]}\n"), names(":1:6: zip: ", "patch has 2 ", "halo 1"));
    EXPECT_THAT(refusal("zip: {patch: [64, 128]}\n"), StartsWith(":1:6: zip: "));
    EXPECT_THAT(refusal("zip: [8]\n"), StartsWith(":1:7: zip: "));
    EXPECT_THAT(refusal("zip: 8\n"), StartsWith(":1:6: zip: "));
    EXPECT_THAT(refusal("zip: {patch: [1, 2], hlo: [1, 2]}\n"), names(":1:22: ", "'hlo'"));
    EXPECT_THAT(refusal("zip: {patch: [1, 2], name: [a, b]}\n"), StartsWith(":1:22: name: "));
    EXPECT_THAT(refusal("patch: 8\nzip: {patch: [1, 2], batch: [1, 2]}\n"), names(":2:7: ", "'patch'"));
    EXPECT_THAT(refusal("zip: {patch: [], batch: []}\n"), StartsWith(":1:7: patch: "));
    EXPECT_THAT(refusal("zip: {zip: {patch: [1, 2], batch: [1, 2]}}\n"), names(":1:7: ", "'zip'"));
}

TEST_F(Sweep, ExclusionsLeavePointsOut) {
    const std::string study = "patch: [64, 128]\nhalo: [none, 8]\nbatch: [1, 2]\n";
    EXPECT_THAT(points(load(study + "exclude:\n- {patch: 64, halo: 0}\n- {patch: 128, batch: [2, 3], halo: [8]}\n")),
                ElementsAre("64 8 1", "64 8 2", "128 none 1", "128 none 2", "128 8 1"))
        << "halo 0 is halo none";
    EXPECT_THAT(
        points(load("halo: none\nbatch: [1, 2]\nexclude: [{batch: 1}]\ngroups:\n- {patch: 8}\n- patch: [16, 24]\n"
                    "  exclude: [{patch: 16}]\n")),
        ElementsAre("8 none 2", "24 none 2"));
    EXPECT_EQ(load(study + "exclude: [{image: {noise_sigma: 0.10}}]\n", {"image.noise_sigma=[0.1, 0.2]"}).points.size(),
              8U)
        << "0.10 is 0.1";
}

TEST_F(Sweep, ExclusionsThatMatchNoPointAreToldByTheirPlace) {
    const std::string study =
        "patch: [64, 128]\nexclude:\n- {patch: 64, batch: 4}\n- {patch: 63}\n- {halo: 8}\n- {batch: 4, patch: 64}\n";
    const Config config = load(study + "groups:\n- {batch: 4}\n- {batch: 8, halo: 16}\n");
    EXPECT_THAT(config.unmatched_exclusions, ElementsAre(testing::EndsWith(":4:3"), testing::EndsWith(":5:3")))
        << "the first one matches in one group, the last one what the first one does";
}

TEST_F(Sweep, WrongExclusionsSayTheirPlace) {
    EXPECT_THAT(refusal("exclude: {patch: 8}\n"), StartsWith(":1:10: exclude: "));
    EXPECT_THAT(refusal("exclude: [{}]\n"), StartsWith(":1:11: exclude: "));
    EXPECT_THAT(refusal("exclude: [{pach: 8}]\n"), names(":1:12: ", "'pach'", "'patch'"));
    EXPECT_THAT(refusal("exclude: [{patch: 0}]\n"), StartsWith(":1:19: patch = 0: "));
    EXPECT_THAT(refusal("exclude: [{name: a}]\n"), StartsWith(":1:12: name: "));
    EXPECT_THAT(refusal("exclude: [{patch: 8, exclude: [{batch: 1}]}]\n"), names(":1:22: ", "'exclude'"));
    EXPECT_THAT(refusal("zip: {patch: [1, 2], batch: [1, 2], exclude: []}\n"), names(":1:37: ", "'exclude'"));
    EXPECT_THAT(refusal("patch: 8\nexclude:\n- {patch: 8}\n"), StartsWith(":3:3: exclude: "));
    EXPECT_THAT(refusal("exlude: []\n"), names(":1:1: ", "'exlude'", "'exclude'"));
    std::string many = "exclude:\n";
    for (int i = 1; i <= 101; ++i) many += "- {patch: " + std::to_string(i) + "}\n";
    EXPECT_THAT(refusal(many), names(":102:3: exclude: ", "100"));
}

const std::string kPresets = R"(name: s
patch: [64, 128]
halo: none
batch: [1, 2]
exclude: [{patch: 64, batch: 2}]
groups:
- {halo: 8}
- {halo: 16, patch: 256}
presets:
  smoke: {patch: 8, batch: 1, exclude: []}
  quick: {name: q, batch: 3, groups: [{patch: 32}, {patch: 24, zip: {halo: [1, 2], batch: [5, 6]}}]}
)";

TEST_F(Sweep, APresetOverridesSettingsAndMayReplaceGroups) {
    EXPECT_THAT(points(load(kPresets)), ElementsAre("64 8 1", "128 8 1", "128 8 2", "256 16 1", "256 16 2"));
    EXPECT_THAT(points(load(kPresets, {"preset=smoke"})), ElementsAre("8 8 1", "8 16 1"));
    const Config quick = load(kPresets + "preset: quick\n");
    EXPECT_EQ(quick.study.name, "q");
    EXPECT_EQ(quick.study.preset, "quick");
    EXPECT_THAT(points(quick), ElementsAre("32 none 3", "24 1 5", "24 2 6"));
    EXPECT_THAT(points(load(kPresets + "preset: quick\n", {"preset=smoke", "halo=4"})), ElementsAre("8 4 1", "8 4 1"))
        << "overrides come last";
    EXPECT_EQ(load(kPresets + "preset: quick\n", {"preset="}).points.size(), 5U);
    const std::string excluding =
        "batch: [1, 2]\nexclude: [{batch: 1}]\npresets: {all: {exclude: []}, one: {exclude: [{batch: 2}]}}\n";
    EXPECT_THAT(loaded(excluding), ElementsAre("256 none 2"));
    EXPECT_THAT(loaded(excluding, {"preset=all"}), ElementsAre("256 none 1", "256 none 2"));
    EXPECT_THAT(loaded(excluding, {"preset=one"}), ElementsAre("256 none 1")) << "instead of the study's own";
    EXPECT_THAT(loaded(excluding, {"preset=one", "preset=all"}), ElementsAre("256 none 1", "256 none 2"))
        << "the last one holds";
}

TEST_F(Sweep, WrongPresetsSayTheirPlace) {
    EXPECT_THAT(refusal(kPresets, {"preset=quik"}),
                names("--set preset=quik: preset: ", "'quik'", "'quick'", "smoke, quick"));
    EXPECT_THAT(refusal("preset: a\n"), names(":1:9: preset: ", "`presets`"));
    EXPECT_THAT(refusal("preset: [a]\npresets: {a: {patch: 8}}\n"), StartsWith(":1:1: preset: "));
    EXPECT_THAT(refusal("presets: [a]\n"), StartsWith(":1:10: presets: "));
    EXPECT_THAT(refusal("presets: {a: 8}\n"), StartsWith(":1:14: presets, a: "));
    EXPECT_THAT(refusal("presets: {a: {patch: 8}, a: {patch: 9}}\n"), names(":1:26: ", "'a'"));
    EXPECT_THAT(refusal("presets: {a: {patch: x}}\n"), StartsWith(":1:22: patch: 'x'"))
        << "also where it is not chosen";
    EXPECT_THAT(refusal("presets: {a: {preset: b}}\n"), StartsWith(":1:15: preset: "));
    EXPECT_THAT(refusal("presets: {a: {presets: {b: {patch: 8}}}}\n"), StartsWith(":1:15: 'presets'"));
    EXPECT_THAT(refusal("presets: {a: {groups: [{patch: 0}]}}\n"), HasSubstr("patch = 0: "));
    EXPECT_THAT(refusal("groups: [{preset: a}]\n"), StartsWith(":1:11: preset: "));
}

TEST_F(Sweep, TextByKeyIsOneForEqualSettings) {
    PointSettings a, b;
    set_by_key(a, "halo", "0");
    set_by_key(b, "halo", "none");
    EXPECT_EQ(text_by_key(a, "halo"), text_by_key(b, "halo"));
    EXPECT_THAT(usage_error([&] { (void)text_by_key(a, "hallo"); }), AllOf(HasSubstr("'hallo'"), HasSubstr("'halo'")));
    EXPECT_THAT(text_by_key(a, "image.path"), IsEmpty());
}

}  // namespace
}  // namespace pb::config
