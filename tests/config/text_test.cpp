#include "config/text.hpp"

#include "config/sample_settings.hpp"
#include "config/settings_access.hpp"
#include "support/messages.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace pb::config {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;

template <class Value>
Value parsed(std::string_view text) {
    Value value{};
    parse_setting(text, value);
    return value;
}

template <class Value>
std::string refused(std::string_view text) {
    return usage_error([&] { (void)parsed<Value>(text); });
}

TEST(Text, NumbersReadBackAsTheyWereWritten) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 1000; ++i) {
        const auto whole = static_cast<int64_t>(random());
        const double real = std::ldexp(static_cast<double>(whole), static_cast<int>(random() % 200) - 150);
        EXPECT_EQ(parsed<int64_t>(format_setting(whole)), whole);
        EXPECT_EQ(parsed<uint64_t>(format_setting(static_cast<uint64_t>(whole))), static_cast<uint64_t>(whole));
        EXPECT_EQ(parsed<double>(format_setting(real)), real);
    }
    EXPECT_EQ(format_setting(0.1), "0.1");
}

TEST(Text, OnlyWholeTextsAreNumbers) {
    for (const char* text : {"", "abc", "1.5", "12x", " 1", "1 ", "0x10", "99999999999999999999"})
        EXPECT_THAT(refused<int64_t>(text), HasSubstr("'" + std::string(text) + "'"));
    for (const char* text : {"", "nan", "inf", "-inf", "0.1f", "1e999"})
        EXPECT_THAT(refused<double>(text), HasSubstr("'" + std::string(text) + "'"));
    EXPECT_THAT(refused<uint64_t>("-1"), HasSubstr("'-1'"));
    EXPECT_THAT(refused<int64_t>("99999999999999999999"), HasSubstr("too large"));
}

TEST(Text, WhatIsNoNumberLeavesTheValue) {  // `nan` and `inf` begin the names of files, too
    for (const char* text : {"nano.onnx", "infinite.pth", "7up.onnx", "nan"}) {
        double value = 5;
        EXPECT_THROW(parse_setting(text, value), UsageError);
        EXPECT_EQ(value, 5) << text;
    }
}

TEST(Text, QuotientsAreNumbersOfEverySettingThatIsOne) {
    EXPECT_EQ(parsed<double>("25/255"), 25.0 / 255);
    EXPECT_EQ(parsed<NoiseLevelSetting>("25/255").level, 25.0 / 255);
    for (const char* text : {"1/0", "1/", "/2", "1/2/3", "1/inf", "inf/inf", "1e300/1e-300", "1 / 2"}) {
        EXPECT_THAT(refused<double>(text), HasSubstr("'" + std::string(text) + "'"));
        EXPECT_THAT(refused<NoiseLevelSetting>(text), HasSubstr("auto")) << text;
    }
    EXPECT_THAT(refused<int64_t>("4/2"), HasSubstr("'4/2'"));
    PointSettings settings;
    for (const char* key : {"sigma", "trained_sigma", "image.noise_sigma", "halo_tolerance"}) {
        set_by_key(settings, key, "25/255");
        EXPECT_EQ(text_by_key(settings, key), format_setting(25.0 / 255)) << key;
    }
}

TEST(Text, ChoicesReadBackAndListTheirWords) {
    EXPECT_TRUE(parsed<bool>("on"));
    EXPECT_FALSE(parsed<bool>("no"));
    EXPECT_THAT(refused<bool>("1"), HasSubstr("true | false | on | off | yes | no"));
    EXPECT_THAT(refused<NetworkSetting>("drunet2"), HasSubstr("| FILE (.onnx"));
    EXPECT_THAT(usage_error([] { (void)seed_of("seed:x"); }),
                testing::StartsWith("weights = seed:x: must be seed:<n>"));
    for (const char* text : {"none", "exact", "auto", "24"}) EXPECT_EQ(format_setting(parsed<HaloSetting>(text)), text);
    EXPECT_EQ(parsed<HaloSetting>("0"), parsed<HaloSetting>("none"));
    EXPECT_THAT(refused<HaloSetting>("-8"), AllOf(HasSubstr("none"), HasSubstr("exact"), HasSubstr("auto")));
    EXPECT_EQ(parsed<CountSetting>("16").count, 16);
    EXPECT_TRUE(parsed<CountSetting>("auto").is_automatic());
    CountSetting counted{.count = 16};
    parse_setting("auto", counted);
    EXPECT_TRUE(counted.is_automatic()) << "whatever it was before";
    EXPECT_THAT(refused<CountSetting>("all"), HasSubstr("or auto")) << "is a word of ranks alone";
    PointSettings point;
    parse_setting("all", point.ranks);
    EXPECT_TRUE(point.ranks.is_automatic());
    EXPECT_THAT(usage_error([&] { parse_setting("auto", point.ranks); }), HasSubstr("or all"));
    EXPECT_THAT(refused<CountSetting>("0"), AllOf(HasSubstr("'0'"), HasSubstr("auto")));
    for (const char* text : {"torch", "jax", "python:a/b.py", "auto"})
        EXPECT_EQ(format_setting(parsed<EngineSetting>(text)), text);
    EXPECT_EQ(parsed<EngineSetting>("python:a/b.py").file, "a/b.py");
    EXPECT_TRUE(parsed<EngineSetting>("auto").is_automatic);
    EXPECT_NE(parsed<EngineSetting>("auto"), parsed<EngineSetting>("torch"));
    EXPECT_THAT(refused<EngineSetting>("python"), HasSubstr("python:my_engine.py"));
    EXPECT_THAT(refused<EngineSetting>("python:"), AllOf(HasSubstr("none of: torch"), EndsWith("| auto")));
    EXPECT_THAT(value_shape(EngineSetting{}), AllOf(HasSubstr("| python:FILE |"), HasSubstr("| jax |")));
    for (const char* text : {"channels_last", "contiguous", "auto"})
        EXPECT_EQ(format_setting(parsed<LayoutSetting>(text)), text);
    EXPECT_NE(parsed<LayoutSetting>("auto"), parsed<LayoutSetting>("channels_last"));
    EXPECT_THAT(refused<LayoutSetting>("nchw"), HasSubstr("'nchw' is none of: channels_last | contiguous | auto"));
    for (const char* text : {"7", "auto", "largest"}) EXPECT_EQ(format_setting(parsed<BatchSetting>(text)), text);
    EXPECT_TRUE(parsed<BatchSetting>("largest").is_open());
    for (const char* text : {"all", "0", "-1"})
        EXPECT_THAT(refused<BatchSetting>(text), AllOf(HasSubstr("auto"), HasSubstr("largest")));
    EXPECT_THAT(refused<CountSetting>("largest"), AllOf(HasSubstr("'largest'"), HasSubstr("auto")));
    for (const char* text : {"0", "0.25", "auto"}) EXPECT_EQ(format_setting(parsed<NoiseLevelSetting>(text)), text);
    EXPECT_EQ(format_setting(parsed<NoiseLevelSetting>("-1")), "auto");  // as older results write it
    for (const char* text : {"-2", "-0.5", "nan", "none"})
        EXPECT_THAT(refused<NoiseLevelSetting>(text), HasSubstr("auto"));
    EXPECT_EQ(format_setting(PointSettings{}.ranks), "all");
    EXPECT_EQ(format_setting(PointSettings{}.sigma), "auto");
    EXPECT_EQ(format_setting(PointSettings{}.threads), "auto");
}

TEST(Text, ANetworkInAFileIsCalledAsTheFileWithoutWhatSeparatesPartsOfALabel) {
    EXPECT_EQ(parsed<NetworkSetting>("models/my-net_2 v1.5.onnx").name(), "my_net_2_v1.5");
    EXPECT_EQ(parsed<NetworkSetting>("unet").name(), "unet");
}

TEST(ByKey, EveryDefaultIsLegalAndReadsBack) {
    const PointSettings defaults;
    PointSettings copy;
    point_fields(defaults, [&](const FieldName& field, const auto& value) {
        EXPECT_NO_THROW(set_by_key(copy, field.key, format_setting(value))) << field.key;
    });
    const StudySettings study;
    StudySettings study_copy;
    study_fields(study, [&](const FieldName& field, const auto& value) {
        EXPECT_NO_THROW(set_by_key(study_copy, field.key, format_setting(value))) << field.key;
    });
    EXPECT_NO_THROW(validate(defaults));
    EXPECT_NO_THROW(validate(study));
    for (const auto& key : point_keys()) EXPECT_FALSE(is_study_key(key)) << key;
}

TEST(ByKey, HelpHasShapeRangeAndDefault) {
    const PointSettings defaults;
    const SettingHelp patch = help_by_key(defaults, "patch");
    EXPECT_EQ(patch.shape, "N");
    EXPECT_EQ(patch.range, "1 to 1073741824 px");
    EXPECT_EQ(patch.value, "256");
    EXPECT_EQ(help_by_key(defaults, "ranks").shape, "N | all");
    EXPECT_EQ(help_by_key(defaults, "dtype").shape, "fp32 | tf32 | bf16 | fp16");
    EXPECT_EQ(help_by_key(defaults, "dtype").range, "");
    EXPECT_EQ(help_by_key(defaults, "sigma").range, "0 to 1");
    EXPECT_EQ(help_by_key(defaults, "trained_sigma").range, "0.0001 to 1");
    EXPECT_EQ(help_by_key(defaults, "image.noise_sigma").value, "0.1");
    EXPECT_THROW((void)help_by_key(defaults, "pathc"), UsageError);
    for (const auto& key : point_keys()) EXPECT_FALSE(help_by_key(defaults, key).meaning.empty()) << key;
}

TEST(RawShape, IsReadAsWritten) {
    const RawShape shape = parse_raw_shape("2000x3000x4:f32");
    EXPECT_EQ(shape.extent, (Extent{2000, 3000}));
    EXPECT_EQ(shape.channels, 4);
    EXPECT_EQ(shape.dtype, DType::f32);
    EXPECT_EQ(parse_raw_shape("8x9x224:i16").channels, 224);
    EXPECT_EQ(parse_raw_shape("8x9x65535:u8").channels, 65535);
    EXPECT_EQ(parse_raw_shape("1x1x1:u8").extent, (Extent{1, 1}));
    for (const DType type : {DType::u8, DType::u16, DType::i16, DType::u32, DType::f16, DType::f64})
        EXPECT_EQ(parse_raw_shape("8x9x1:" + std::string(name_of(type))).dtype, type);
}

TEST(ByKey, RangesNameTheKeyAndTheLegalValues) {
    const auto refusal = [](const char* key, const char* text) {
        PointSettings settings;
        return usage_error([&] { set_by_key(settings, key, text); });
    };
    EXPECT_THAT(refusal("patch", "0"), names("patch = 0: ", "1 and 1073741824 px"));
    EXPECT_THAT(refusal("slots", "4"), names("slots = 4: ", "1 and 3"));
    EXPECT_THAT(refusal("sigma", "1.5"), names("sigma = 1.5: ", "0 and 1"));
    EXPECT_THAT(refusal("image.noise_sigma", "-0.1"), names("image.noise_sigma = -0.1: ", "0 and 10"));
    EXPECT_THAT(refusal("image.channels", "2"), names("image.channels = 2: ", "1 ", "3 "));
    for (const char* shape :
         {"8x9", "8x9x1", "8x9x65536:u8", "0x9x1:u8", "8x9x1:bf16", "8x9x1:u8 ", "8xx1:u8", "-8x9x1:u8"})
        EXPECT_THAT(refusal("image.raw", shape), names("image.raw = ", "2000x3000x1:u16")) << shape;
    EXPECT_THAT(refusal("image.range", "5:1"), names("image.range = '5:1': ", "auto", "LO:HI"));
    EXPECT_THAT(refusal("image.nodata", "x"), names("image.nodata = 'x': ", "-9999"));
    EXPECT_THAT(refusal("image.bands", "4-5"), names("image.bands = '4-5': ", "4-6"));
    EXPECT_THAT(refusal("batch", "9999999"), HasSubstr("batch = 9999999"));
    EXPECT_THAT(refusal("halo", "1073741825"), names("halo = 1073741825: ", "0 and 1073741824 px"));
    EXPECT_THAT(refusal("memory_limit_mib", "-1"), HasSubstr("memory_limit_mib = -1"));
    EXPECT_THAT(refusal("weights", ""), names("weights: ", "seed:<n>"));
    EXPECT_THAT(refusal("weights", "seed:x"), HasSubstr("weights = seed:x: "));
    EXPECT_THAT(refusal("dtype", "fp8"), names("dtype: 'fp8'", "fp32 | tf32 | bf16 | fp16"));
    EXPECT_THAT(refusal("pathc", "8"), AllOf(HasSubstr("'pathc'"), HasSubstr("'patch'")));
    EXPECT_THAT(refusal("image", "a.png"), AllOf(HasSubstr("'image'"), HasSubstr("image.path, image.raw")));
    EXPECT_THAT(refusal("zzzzzzzz", "8"), testing::EndsWith("'zzzzzzzz'")) << "nothing like it is a setting";
    StudySettings study;
    for (const char* name : {"../up", "up/and/away", "", ".hidden", "a\x1b[31mb"})
        EXPECT_THAT(usage_error([&] { set_by_key(study, "name", name); }), testing::StartsWith("name = ")) << name;
    EXPECT_THAT(usage_error([&] { set_by_key(study, "watchdog_s", "-1"); }), HasSubstr("watchdog_s = -1"));
}

}  // namespace
}  // namespace pb::config
