#include "config/load_yaml.hpp"

#include "config/text.hpp"
#include "yaml_file.hpp"

#include <gmock/gmock.h>

#include <random>

namespace pb::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> summary(const Config& config) {
    std::vector<std::string> all;
    for (const PointSettings& point : config.points)
        all.push_back(format_setting(point.network) + " " + std::to_string(point.patch) + " " +
                      format_setting(point.batch) + " " + format_setting(point.halo));
    return all;
}

TEST_F(YamlFile, SixLinesAreAStudy) {
    const Config config =
        load("name: quick\nnetwork: unet\npatch: 128\nhalo: none\nimage: {path: a.png}\nsave_images: off\n");
    EXPECT_EQ(config.study.name, "quick");
    EXPECT_FALSE(config.study.save_images);
    EXPECT_EQ(config.file, file_.string());
    ASSERT_EQ(config.points.size(), 1U);
    EXPECT_EQ(config.points[0].image.path, folder_ / "a.png");
    EXPECT_THAT(summary(config), ElementsAre("unet 128 4 none"));
}

TEST_F(YamlFile, AFolderIsNoStudy) {
    EXPECT_THAT(usage_error([&] { (void)load_config(folder_, {}); }), HasSubstr("it is a folder"));
}

TEST_F(YamlFile, AStudyWithoutANameIsCalledAsItsFile) {
    EXPECT_EQ(load("patch: 8\n").study.name, "study");
    const auto other = folder_ / "sweep of March.v2.yaml";
    std::filesystem::rename(write("patch: 8\npresets: {quick: {name: fast}}\n"), other);
    EXPECT_EQ(load_config(other, {}).study.name, "sweep of March.v2");
    EXPECT_EQ(load_config(other, {"name=mine"}).study.name, "mine");
    EXPECT_EQ(load_config(other, {"preset=quick"}).study.name, "fast");
    std::filesystem::rename(other, folder_ / ".hidden.yaml");
    EXPECT_EQ(load_config(folder_ / ".hidden.yaml", {}).study.name, "study");
}

TEST_F(YamlFile, PathsAreRelativeToTheStudyAndThoseOfOverridesToTheCurrentFolder) {
    const std::string study =
        "weights: [default, 'seed:3', w.pth, /abs/w.pth]\nimage.path: ../a.png\ntimed.results: r.jsonl\n"
        "groups:\n- {image.path: ['', b.png]}\npresets: {other: {image.path: c.png}}\n"
        "exclude: [{image.path: b.png, weights: [default, 'seed:3', w.pth]}]\n";
    const auto points = load(study).points;
    ASSERT_EQ(points.size(), 5U);
    const std::vector<std::string> weights{"default", "seed:3", folder_ / "w.pth", "/abs/w.pth", "/abs/w.pth"};
    for (size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(points[i].weights, weights[i]);
        EXPECT_EQ(points[i].image.path, i < 4 ? "" : (folder_ / "b.png").string());
        EXPECT_EQ(points[i].timed.results, folder_ / "r.jsonl");
    }
    EXPECT_EQ(load(study, {"preset=other"}).points[0].image.path, folder_ / "c.png");
    const auto overridden = load(study, {"image.path=d.png", "weights=x.pth"}).points;
    ASSERT_EQ(overridden.size(), 1U);
    EXPECT_EQ(overridden[0].image.path, "d.png");
    EXPECT_EQ(overridden[0].weights, "x.pth");
    EXPECT_EQ(load("image.path: ../a.png\n").points[0].image.path, folder_.parent_path() / "a.png");
    EXPECT_EQ(load("engine: python:../e.py\n").points[0].engine.file, folder_.parent_path() / "e.py");
    EXPECT_EQ(load("engine: jax\n").points[0].engine, EngineKind::jax);
    EXPECT_EQ(load("network: nets/n.onnx\n").points[0].network.file, folder_ / "nets/n.onnx");
}

TEST_F(YamlFile, APathThroughALinkedFolderIsTheOneThatTheSystemFinds) {
    std::filesystem::create_directories(folder_ / "real/studies");
    std::ofstream(folder_ / "real/a.png") << "a";
    std::filesystem::create_directory_symlink(folder_ / "real/studies", folder_ / "studies");
    std::filesystem::rename(write("image.path: ../a.png\n"), folder_ / "real/studies/study.yaml");
    const std::string path = load_config(folder_ / "studies/study.yaml", {}).points[0].image.path;
    EXPECT_TRUE(std::filesystem::equivalent(path, folder_ / "real/a.png")) << path;
}

TEST_F(YamlFile, ListsExpandToTheirProductTheLastKeyFastest) {
    EXPECT_THAT(summary(load("network: [drunet, unet]\nhalo: none\nbatch: [1, auto]\n")),
                ElementsAre("drunet 256 1 none", "drunet 256 auto none", "unet 256 1 none", "unet 256 auto none"));
}

TEST_F(YamlFile, GroupsOverrideDefaultsAndTheirKeysVaryFastest) {
    const Config config =
        load("patch: [64, 128]\nbatch: 2\ngroups:\n- network: unet\n  halo: [8, 16]\n- {patch: 32, batch: [1, 3]}\n");
    EXPECT_THAT(summary(config), ElementsAre("unet 64 2 8", "unet 64 2 16", "unet 128 2 8", "unet 128 2 16",
                                             "dncnn 32 1 exact", "dncnn 32 3 exact"));
}

TEST_F(YamlFile, NestedAndDottedKeysAreTheSame) {
    const Config config =
        load("image:\n  height: 64\n  noise_sigma: [0, 0.2]\nimage.width: 32\nverify: {mode: full}\n");
    ASSERT_EQ(config.points.size(), 2U);
    EXPECT_EQ(config.points[1].image.height, 64);
    EXPECT_EQ(config.points[1].image.width, 32);
    EXPECT_DOUBLE_EQ(config.points[1].image.noise_sigma, 0.2);
    EXPECT_EQ(config.points.front().protocol.verify, VerifyMode::full);
}

TEST_F(YamlFile, AliasesWorkAndMergeKeysAreRefused) {
    EXPECT_THAT(summary(load("patch: &p [32, 64]\ngroups: [{batch: 1}, {patch: *p, batch: 2}]\n")),
                ElementsAre("dncnn 32 1 exact", "dncnn 64 1 exact", "dncnn 32 2 exact", "dncnn 64 2 exact"));
    EXPECT_THAT(refusal("groups:\n- &g {patch: 8}\n- {<<: *g, batch: 2}\n"), StartsWith(":3:4: "));
}

TEST_F(YamlFile, OverridesReplaceAKeyEverywhere) {
    const std::string study = "name: a\npatch: [64, 128]\ngroups:\n- {batch: 1, patch: 16}\n- {batch: 2}\n";
    EXPECT_THAT(summary(load(study, {"patch=32"})), ElementsAre("dncnn 32 1 exact", "dncnn 32 2 exact"));
    EXPECT_THAT(
        summary(load(study, {"patch=8", "patch=[32, 64]", "batch=auto"})),
        ElementsAre("dncnn 32 auto exact", "dncnn 64 auto exact", "dncnn 32 auto exact", "dncnn 64 auto exact"));
    const Config config = load(study, {"name=b", "image.path=with: colon, [bracket", "image.height=9"});
    EXPECT_EQ(config.study.name, "b");
    EXPECT_EQ(config.points[0].image.path, "with: colon, [bracket");
    EXPECT_EQ(load(study, {"image.path="}).points[0].image.path, "");
}

TEST_F(YamlFile, OverrideErrorsNameTheOption) {
    EXPECT_THAT(refusal("patch: 8\n", {"pathc=3"}), names("--set pathc=3: ", "'pathc'", "'patch'"));
    EXPECT_THAT(refusal("patch: 8\n", {"patch"}), names("--set patch: ", "key=value"));
    EXPECT_THAT(refusal("patch: 8\n", {"=3"}), names("--set =3: ", "key=value"));
    EXPECT_THAT(refusal("patch: 8\n", {"patch=0"}), StartsWith("--set patch=0: patch = 0: "));
    EXPECT_THAT(refusal("patch: 8\n", {"patch=[8, "}), StartsWith("--set patch=[8, :1:"));
    EXPECT_THAT(refusal("patch: 8\n", {"patch=[]"}), names("--set patch=[]:", "patch: "));
    EXPECT_THAT(refusal("patch: 8\n", {"name=[a, b]"}), names("--set name=[a, b]:", "name: "));
    EXPECT_THAT(refusal("patch: 8\n", {"image=x"}), names("--set image=x: ", "'image'"));
}

TEST_F(YamlFile, ErrorsSayFileLineAndColumn) {
    EXPECT_THAT(refusal("patch: 64\npathc: 8\n"), names(":2:1: ", "'pathc'", "'patch'"));
    EXPECT_THAT(refusal("image:\n  hieght: 8\n"), names(":2:3: ", "'image.hieght'", "'image.height'"));
    EXPECT_THAT(refusal("imgae: {path: x}\n"), names(":1:1: ", "'imgae'", "'image'"));
    EXPECT_THAT(refusal("temperature: 3\n"), AllOf(StartsWith(":1:1: "), EndsWith("'temperature'")));
    EXPECT_THAT(refusal("group: [{patch: 8}]\n"), names(":1:1: ", "'group'", "'groups'"));
    EXPECT_THAT(refusal("patch: abc\n"), StartsWith(":1:8: patch: 'abc'"));
    EXPECT_THAT(refusal("patch: [8,\n  0]\n"), names(":2:3: patch = 0: ", "1 and 1073741824 px"));
    EXPECT_THAT(refusal("groups:\n- {dtype: fp8}\n"), names(":2:11: dtype: 'fp8'", "fp32 | tf32 | bf16 | fp16"));
    EXPECT_THAT(refusal("patch: 0\ngroups:\n- {patch: 8}\n"), StartsWith(":1:8: patch = 0: "));
    EXPECT_THAT(refusal("patch: 8\nbatch: 1\npatch: 9\n"), AllOf(names(":3:1: ", "'patch'"), EndsWith("line 1")));
    EXPECT_THAT(refusal("image.height: 8\nimage: {height: 9}\n"), names(":2:9: ", "'image.height'", "line 1"));
    EXPECT_THAT(refusal("name: [a, b]\n"), StartsWith(":1:1: name: "));
    EXPECT_THAT(refusal("groups:\n- {name: b}\n"), StartsWith(":2:4: name: "));
    EXPECT_THAT(refusal("groups:\n- {groups: [{patch: 8}]}\n"), StartsWith(":2:4: 'groups'"));
}

TEST_F(YamlFile, KeysInOtherCaseAndOtherNamesOfSettingsAreUnderstood) {
    EXPECT_THAT(refusal("Image: {path: x}\n"), names(":1:1: ", "'Image'", "'image'"));
    EXPECT_THAT(refusal("image: {Path: x}\n"), names(":1:9: ", "'image.Path'", "'image.path'"));
    EXPECT_THAT(refusal("Patch: 8\n"), names(":1:1: ", "'Patch'", "'patch'"));
    EXPECT_THAT(refusal("GROUPS: []\n"), names(":1:1: ", "'GROUPS'", "'groups'"));
    EXPECT_THAT(refusal("precision: fp16\n"), names(":1:1: ", "'precision'", "'dtype'"));
    EXPECT_THAT(refusal("Batch_Size: 4\n"), names(":1:1: ", "'Batch_Size'", "'batch'"));
    for (const char* key : {"model", "tile", "noise", "gpus", "checkpoint", "reps", "seed", "input"})
        EXPECT_THAT(refusal(std::string(key) + ": 4\n"),
                    AllOf(HasSubstr("'" + std::string(key) + "'"), Not(EndsWith(std::string(key) + "'"))))
            << "no setting is suggested for " << key;
    EXPECT_THAT(refusal("patch: 8\n", {"precision=fp16"}), names("--set precision=fp16: ", "'precision'", "'dtype'"));
}

TEST_F(YamlFile, WrongShapesAreRefused) {
    EXPECT_THAT(refusal("patch: []\n"), StartsWith(":1:1: patch: "));
    EXPECT_THAT(refusal("patch:\nbatch: 1\n"), StartsWith(":1:1: patch: "));
    EXPECT_THAT(refusal("patch: ~\n"), StartsWith(":1:1: patch: "));
    EXPECT_THAT(refusal("patch: {a: 1}\n"), names(":1:9: patch: ", "'a'"));
    EXPECT_THAT(refusal("patch: [[8]]\n"), StartsWith(":1:9: patch: "));
    EXPECT_THAT(refusal("image: a.png\n"), StartsWith(":1:1: 'image'"));
    EXPECT_THAT(refusal("- patch: 8\n"), StartsWith(":1:1: "));
    EXPECT_THAT(refusal("just text\n"), StartsWith(":1:1: "));
    EXPECT_THAT(refusal("groups: []\n"), StartsWith(":1:9: groups: "));
    EXPECT_THAT(refusal("groups: {patch: 8}\n"), StartsWith(":1:9: groups: "));
    EXPECT_THAT(refusal("groups: [8]\n"), StartsWith(":1:10: groups: "));
    EXPECT_THAT(refusal("? [a, b]\n: 8\n"), StartsWith(":1:3: "));
    EXPECT_THAT(refusal("name: \"a\\x1bb\"\n"), StartsWith(":1:7: name: "));
    EXPECT_THAT(refusal("patch: 8\n---\npatch: 9\n"), StartsWith(":2:1: "));
    EXPECT_THAT(refusal(", patch: 8\n"), StartsWith(":1:1: "));
    EXPECT_THAT(refusal("patch: [8\nbatch: 1\n"), StartsWith(":2:6: "));
    EXPECT_THAT(refusal(""), StartsWith(": "));
    EXPECT_THAT(refusal("# only a comment\n"), StartsWith(": "));
}

TEST_F(YamlFile, WhatIsWrongInTheFileIsRefusedEvenIfAnOverrideReplacesIt) {
    EXPECT_THAT(refusal("patch: abc\n", {"patch=8"}), StartsWith(":1:8: patch: 'abc'"));
    EXPECT_THAT(refusal("groups: [{patch: 0}]\n", {"patch=8"}), StartsWith(":1:18: patch = 0: "));
}

TEST_F(YamlFile, WrongIndentationIsSaidSo) {
    for (const char* text :
         {"image:\n  path: a.png\n patch: 64\n", "patch: 64\n  batch: 2\n", "image:\n\tpath: a.png\n"})
        EXPECT_THAT(refusal(text), HasSubstr("same column")) << text;
}

TEST_F(YamlFile, UnreadableFilesAreNamed) {
    EXPECT_THAT(usage_error([&] { (void)load_config(folder_ / "none.yaml", {}); }), HasSubstr("none.yaml: "));
    EXPECT_THAT(usage_error([&] { (void)load_config(folder_, {}); }), HasSubstr(folder_.string()));
}

TEST_F(YamlFile, SizesAreBounded) {
    EXPECT_THAT(refusal("patch: 8 #" + std::string(2 << 20, 'x')), names(": ", "1 MiB"));
    std::string list = "[1";
    for (int i = 2; i <= 400; ++i) list += ", " + std::to_string(i);
    list += "]";
    EXPECT_THAT(refusal("batch: " + list + "\nimage.seed: " + list + "\n"),
                AllOf(HasSubstr("160000 points"), HasSubstr("batch (400) x image.seed (400)")));
    std::string bomb = "batch: &l " + list + "\ngroups:\n- &g {image.seed: *l, patch: *l}\n";
    EXPECT_THAT(refusal(bomb), HasSubstr("6.4e+07 points"));
    std::string wide = "groups:\n- &g {patch: " + list + "}\n";
    for (int i = 0; i < 10'000; ++i) wide += "- *g\n";
    EXPECT_THAT(refusal(wide), names(":2:1407: patch: ", "200000"));
    EXPECT_THAT(refusal("name: " + std::string(5000, 'x') + "\n"), names(":1:7: name: ", "4096 bytes"));
}

TEST_F(YamlFile, DeepAndCyclicNestingIsRefused) {
    EXPECT_THAT(refusal("patch: " + std::string(500'000, '[')), StartsWith(":1:"));
    EXPECT_THAT(refusal("patch: " + std::string(200'000, '{')), StartsWith(":1:"));
    std::string dashes;
    for (int i = 0; i < 20'000; ++i) dashes += "- ";
    EXPECT_THAT(refusal(dashes + "8\n"), StartsWith(":1:"));
    EXPECT_THAT(refusal("patch: &p [*p]\n"), StartsWith(":1:8: patch: "));
    EXPECT_THAT(refusal("image: &i {path: *i}\n"), names(":1:", "'path'"));
    EXPECT_THAT(refusal("patch: &i {from: *i, to: 8, step: 1}\n"), StartsWith(":1:8: patch.from: "));
    EXPECT_THAT(refusal("exclude: &e [{patch: 8}, *e]\n"), StartsWith(":1:10: exclude: "));
    EXPECT_THAT(refusal("presets: &p {quick: {groups: [*p]}}\n"), names(":1:", "'quick'"));
}

// Mutations of a good study either load or are refused with a UsageError; nothing else leaves the reader.
TEST_F(YamlFile, MutatedStudiesLoadOrAreRefused) {
    const std::string study =
        "name: s\nimage: {path: &a x.png, seed: 3}\nbatch: [1, 2]\nexclude: [{patch: 8}]\ngroups:\n- {patch: 64, "
        "image.path: *a}\n- halo: \"8\"\n  zip: {patch: [32, 64], slots: [2, 3]}\npreset: q\npresets: {q: {threads: "
        "{from: 1, to: 3, step: 1}}}\n";
    const std::string alphabet = "[]{}:,-&*?|>!%@'\"#\n \t\\~<a0.\xff";
    std::mt19937 random(5);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string mutated = study;
        for (size_t edits = random() % 4 + 1; edits-- > 0;) {
            const size_t place = random() % mutated.size();
            const char letter = alphabet[random() % alphabet.size()];
            if (random() % 2 == 0)
                mutated[place] = letter;
            else
                mutated.insert(place, 1 + random() % 3, letter);
        }
        try {
            EXPECT_FALSE(load(mutated).points.empty());
        } catch (const UsageError&) {
            ++refused;
        }
    }
    EXPECT_GT(refused, 500);
    EXPECT_LT(refused, 2000);
}

TEST_F(YamlFile, ModelCardsListWeights) {
    const auto weights = load_model_card(write(
        "network: dncnn\nabout: for people\nweights:\n- name: small\n  file: small.safetensors\n  sigma_train: 0.1\n"
        "- {name: official, file: ~, sigma_most: 0.2, url: 'https://example.org/w.pth', sha256: ab, channels: 1, note: "
        "gray}\n"));
    ASSERT_EQ(weights.size(), 2U);
    EXPECT_EQ(weights[0].file, "small.safetensors");
    EXPECT_DOUBLE_EQ(weights[0].sigma_train, 0.1);
    EXPECT_EQ(weights[0].channels, 3);
    EXPECT_EQ(weights[1].url, "https://example.org/w.pth");
    EXPECT_EQ(weights[1].sha256, "ab");
    EXPECT_EQ(weights[1].channels, 1);
    EXPECT_LT(weights[1].sigma_train, 0);
    EXPECT_LT(weights[0].sigma_most, 0);
    EXPECT_DOUBLE_EQ(weights[1].sigma_most, 0.2);
}

TEST_F(YamlFile, TheCardOfANetworkMustFitTogether) {
    EXPECT_EQ(load_network_card(write("channels: 3\nalignment: 8\nradius: 5\nhalo: 8\n")).card.halo, 8);
    EXPECT_THAT(
        usage_error([&] { (void)load_network_card(write("channels: 3\nalignment: 8\nradius: 5\nhalo: 12\n")); }),
        names(file_.string() + ":1:1: ", "halo", "12", "8"));
}

TEST_F(YamlFile, ModelCardErrorsSayThePlace) {
    const auto refused = [&](const std::string& text) {
        return usage_error([&] { (void)load_model_card(write(text)); });
    };
    EXPECT_THAT(refused("network: x\n"), names((folder_ / "study.yaml:1:1: ").string(), "weights"));
    EXPECT_THAT(refused("weights:\n- {name: a, sha: b}\n"), names((folder_ / "study.yaml:2:13: ").string(), "'sha'"));
    EXPECT_THAT(refused("weights:\n- {name: a, channels: x}\n"), HasSubstr(":2:23: channels: 'x'"));
    EXPECT_THAT(refused("weights:\n- {file: a}\n"), HasSubstr(":2:3: weights: "));
    EXPECT_THAT(refused("weights:\n- {name: a, channels: 2}\n"), HasSubstr(":2:3: a: channels "));
    EXPECT_THAT(refused("weights: []\nweights: []\n"), AllOf(HasSubstr(":2:1: "), HasSubstr("'weights'")));
}

}  // namespace
}  // namespace pb::config
