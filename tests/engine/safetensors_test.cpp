#include "support/checkpoint_files.hpp"
#include "support/damage.hpp"
#include "support/messages.hpp"
#include "support/resource_limit.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace pb::engine {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

std::filesystem::path scratch() {
    static const test::TemporaryFolder folder;
    return folder / "checkpoint.safetensors";
}

std::string with_length(const std::string& header, const std::string& tensors, uint64_t length) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i));
    return bytes + header + tensors;
}

std::string message_of(const std::string& bytes) {
    test::write_bytes(scratch(), bytes);
    return usage_error([] { (void)load_checkpoint(scratch()); });
}

std::string message_of(const std::string& header, const std::string& tensors) {
    return message_of(with_length(header, tensors, header.size()));
}

StateDict loaded(const std::string& header, const std::string& tensors) {
    test::write_bytes(scratch(), with_length(header, tensors, header.size()));
    return load_state_dict(scratch());
}

TEST(Safetensors, AreReadBackAsTheyWereWritten) {
    const StateDict tensors{
        {"a.weight", {{2, 1, 3}, {1, -2, 3.5f, 4, 1e-40f, -0.0f}}}, {"b", {{}, {7}}}, {"empty", {{0, 3}, {}}}};
    save_safetensors(tensors, scratch(), {{"sigma_train", "0.1"}});
    const Checkpoint read = load_checkpoint(scratch());
    EXPECT_EQ(read.metadata.at("sigma_train"), "0.1");
    ASSERT_EQ(read.tensors.size(), tensors.size());
    for (const auto& [key, tensor] : tensors) {
        EXPECT_EQ(read.tensors.at(key).shape, tensor.shape);
        EXPECT_EQ(read.tensors.at(key).values, tensor.values);
    }
}

TEST(Safetensors, BeginTheirTensorsAtAMultipleOfEight) {
    for (size_t length = 1; length <= 8; ++length) {
        save_safetensors({{std::string(length, 'k'), {{1}, {7}}}}, scratch());
        EXPECT_EQ(static_cast<uint8_t>(test::read_bytes(scratch())[0]) % 8, 0) << "the length of the header";
    }
}

TEST(Safetensors, WidenEveryElementType) {
    const std::string header = R"({"i":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                               R"("h":{"dtype":"F16","shape":[4],"data_offsets":[4,12]},)"
                               R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[12,14]},)"
                               R"("c":{"dtype":"I8","shape":[1],"data_offsets":[14,15]}})";
    // -2; 1, the smallest subnormal, -65504, infinity; -1.5; -3
    const std::string values("\xfe\xff\xff\xff\x00\x3c\x01\x00\xff\xfb\x00\x7c\xc0\xbf\xfd", 15);
    const StateDict tensors = loaded(header, values);
    EXPECT_EQ(tensors.at("i").values[0], -2.0f);
    EXPECT_EQ(tensors.at("h").values, (std::vector<float>{1.0f, 0x1p-24f, -65504.0f, INFINITY}));
    EXPECT_EQ(tensors.at("b").values[0], -1.5f);
    EXPECT_EQ(tensors.at("c").values[0], -3.0f);
    EXPECT_FALSE(tensors.at("b").is_integer);
}

TEST(Safetensors, WidenOtherIntegers) {
    const std::string header = R"({"l":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                               R"("s":{"dtype":"I16","shape":[2],"data_offsets":[8,12]},)"
                               R"("u":{"dtype":"U8","shape":[2],"data_offsets":[12,14]},)"
                               R"("t":{"dtype":"BOOL","shape":[2],"data_offsets":[14,16]}})";
    // 2^33; -2, 258; 255, 1; true, false
    const std::string values("\x00\x00\x00\x00\x02\x00\x00\x00\xfe\xff\x02\x01\xff\x01\x01\x00", 16);
    const StateDict tensors = loaded(header, values);
    EXPECT_EQ(tensors.at("l").values, std::vector<float>{0x1p33f});
    EXPECT_EQ(tensors.at("s").values, (std::vector<float>{-2, 258}));
    EXPECT_EQ(tensors.at("u").values, (std::vector<float>{255, 1}));
    EXPECT_EQ(tensors.at("t").values, (std::vector<float>{1, 0}));
    for (const auto& [key, tensor] : tensors) EXPECT_TRUE(tensor.is_integer) << key;
}

TEST(Safetensors, WithLyingSizesAreErrorsThatNameTheTensor) {
    const std::string four(4, 'x'), eight(8, 'x');
    const auto entry = [](const std::string& key, const std::string& shape, const std::string& offsets) {
        return "\""s + key + R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}";
    };
    const auto names_a = [](const char* reason) { return testing::AllOf(HasSubstr("'a'"), HasSubstr(reason)); };
    EXPECT_THAT(message_of("{"s + entry("a", "2", "0,4") + "}", four), names_a("shape"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "0,5") + "}", four + "x"), names_a("shape"));
    EXPECT_THAT(message_of("{"s + entry("a", "2", "0,8") + "}", four), names_a("ends at byte 8"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "4,0") + "}", four), names_a("no range"));
    EXPECT_THAT(message_of("{"s + entry("a", "4294967296,4294967296", "0,0") + "}", ""), names_a("shape"));
    EXPECT_THAT(message_of("{"s + entry("a", "-1", "0,4") + "}", four), names_a("no sizes"));
    EXPECT_THAT(message_of("{"s + entry("a", "1.0", "0,4") + "}", four), names_a("no sizes"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "4,8") + "}", eight), names_a("gap"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "0,4") + "," + entry("b", "1", "0,4") + "}", four),
                HasSubstr("over"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "0,4") + "," + entry("a", "1", "4,8") + "}", eight),
                names_a("twice"));
    EXPECT_THAT(message_of("{"s + entry("a", "1", "0,4") + "}", eight), HasSubstr("belong to no tensor"));
}

// By a sparse file.
TEST(Safetensors, LargerThanAnyNetworkAreNotRead) {
    const test::TemporaryFolder folder;
    test::write_bytes(folder / "disk", "\x02\0\0\0\0\0\0\0{}"s);
    std::filesystem::resize_file(folder / "disk", (uintmax_t{4} << 30) + 1);
    EXPECT_THAT(usage_error([&] { (void)load_checkpoint(folder / "disk"); }), HasSubstr("larger than 4 GiB"));
}

TEST(Safetensors, HaveNoControlCharactersInMessages) {
    EXPECT_THAT(message_of(R"({"a\u001b[2Jb":7})", ""), HasSubstr("'a?[2Jb'"));
}

TEST(Safetensors, WithABrokenHeaderAreErrors) {
    EXPECT_THAT(message_of(with_length("{}", "", 1000)), HasSubstr("1000 bytes are announced"));
    EXPECT_THAT(message_of(with_length("{}", "", ~uint64_t{0})), HasSubstr("header of"));
    EXPECT_THAT(message_of("{\"a\":", ""), HasSubstr("no JSON"));
    EXPECT_THAT(message_of("{\"a\":[[[[[[]]]]]]}", ""), HasSubstr("nested too deeply"));
    EXPECT_THAT(message_of("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[1],\"data_offsets\":[0,1]}}", "x"),
                HasSubstr("not supported"));
    EXPECT_THAT(message_of("{}", ""), HasSubstr("no tensors"));
    EXPECT_THAT(message_of(R"({"__metadata__":{"sigma_train":0.1}})", ""), HasSubstr("'sigma_train'"));
    std::string many;
    for (int i = 0; i < 4097; ++i)
        many +=
            (i == 0 ? "{" : ",") + ("\"" + std::to_string(i) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})");
    EXPECT_THAT(message_of(many + "}", ""), HasSubstr("4097 tensors"));
}

TEST(Checkpoint, OfNoKnownFormatSaysSo) {
    EXPECT_THAT(message_of(""), HasSubstr("empty"));
    EXPECT_THAT(message_of("<html>404 Not Found</html>"), HasSubstr("first bytes"));
    EXPECT_THAT(usage_error([] { (void)load_checkpoint("/no/such/file.pth"); }),
                HasSubstr("/no/such/file.pth: no such file"));
    EXPECT_THAT(usage_error([] { (void)load_checkpoint(testing::TempDir()); }), HasSubstr("not a regular file"));
}

TEST(Checkpoint, ThatEndsBeforeItsSizeIsNotReadAsZeros) {
    const std::filesystem::path file = "/sys/devices/system/cpu/possible";  // its size is said to be that of a page
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed) || std::filesystem::file_size(file, failed) < 4096)
        GTEST_SKIP() << "no such file here";
    EXPECT_THAT(usage_error([&] { (void)load_checkpoint(file); }),
                testing::AllOf(HasSubstr("cannot read " + file.string()), HasSubstr("the disk")));
}

TEST(Checkpoint, IsNotToBlameForTooManyOpenFiles) {
    save_safetensors({{"a", {{1}, {1}}}}, scratch());
    const std::string said = error_of<Error>([] {
        const test::ResourceLimit none(RLIMIT_NOFILE, 0);
        (void)load_checkpoint(scratch());
    });
    EXPECT_THAT(said, testing::AllOf(HasSubstr(scratch().string()), HasSubstr("too many files")));
}

TEST(Safetensors, NeverCrashTheReaderWhenDamaged) {
    save_safetensors({{"a", {{2, 2}, {1, 2, 3, 4}}}, {"b", {{3}, {5, 6, 7}}}}, scratch(), {{"sigma_train", "0.1"}});
    const std::string whole = test::read_bytes(scratch());
    const auto load = [](const std::string& bytes) {
        test::write_bytes(scratch(), bytes);
        (void)error_of<Error>([] { (void)load_checkpoint(scratch()); });
    };
    test::for_each_truncation(whole, whole.size(), load);
    test::for_each_damage(whole, 2000, load);
}

}  // namespace
}  // namespace pb::engine
