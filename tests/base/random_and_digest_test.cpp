#include "base/counter_random.hpp"
#include "base/sha256.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>

namespace pb {
namespace {

// Known answers of Random123's kat_vectors (philox4x32, 10 rounds).
TEST(CounterRandom, GivesTheKnownAnswersOfPhilox) {
    using Block = std::array<uint32_t, 4>;
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// FIPS 180-2, appendix B.
TEST(Sha256, GivesTheKnownAnswers) {
    const std::string abc = "abc";
    EXPECT_EQ(sha256_of(std::as_bytes(std::span(abc))),
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_of({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Sha256, OfAFileIsThatOfItsBytesAcrossPieces) {
    for (const size_t size : {size_t{0}, size_t{5}, size_t{1} << 20, (size_t{1} << 20) + 1}) {
        const std::string bytes(size, 'x');
        const auto file = std::filesystem::path(testing::TempDir()) / "sha256_test.bin";
        std::ofstream(file, std::ios::binary) << bytes;
        EXPECT_EQ(sha256_of_file(file), sha256_of(std::as_bytes(std::span(bytes))));
        std::filesystem::remove(file);
    }
}

TEST(Sha256, OfPiecesSeesEachByteOfASmallFileAndBothEndsOfAnyFile) {
    const auto file =
        std::filesystem::path(testing::TempDir()) / ("sha256_pieces_test_" + std::to_string(::getpid()) + ".bin");
    std::set<std::string> digests;
    size_t count = 0;
    const auto add = [&](const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
        digests.insert(sha256_of_pieces(file));
        ++count;
    };
    add("");
    for (const size_t size : {size_t{5}, (size_t{64} << 10) + 1, size_t{700'001}, size_t{66} << 20}) {
        std::string bytes(size, 'x');
        add(bytes);
        const size_t step = size < size_t{1} << 20 ? size / 5 : size - 1;
        for (size_t place = 0; place < size; place += step) {
            bytes[place] ^= 1;
            add(bytes);
        }
    }
    EXPECT_EQ(digests.size(), count);
    std::filesystem::remove(file);
}

TEST(Sha256, OfWhatCannotBeReadIsAnErrorThatNamesIt) {
    EXPECT_THROW((void)sha256_of_file("/no/such/file"), UsageError);
    EXPECT_THROW((void)sha256_of_file(testing::TempDir()), UsageError);
}

}  // namespace
}  // namespace pb
