#include "base/sha256.hpp"

#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <span>
#include <string>

namespace pb {
namespace {

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
        const test::TemporaryFolder folder;
        const auto file = folder / "bytes";
        std::ofstream(file, std::ios::binary) << bytes;
        EXPECT_EQ(sha256_of_file(file), sha256_of(std::as_bytes(std::span(bytes))));
    }
}

TEST(Sha256, OfPiecesSeesEachByteOfASmallFileAndBothEndsOfAnyFile) {
    const test::TemporaryFolder folder;
    const auto file = folder / "bytes";
    std::set<std::string> digests;
    size_t count = 0;
    const auto add = [&](const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
        digests.insert(sha256_of_pieces(file));
        ++count;
    };
    add("");
    for (const size_t size :
         {size_t{5}, (size_t{64} << 10) + 1, (size_t{64} << 10) + 2, size_t{700'001}, size_t{66} << 20}) {
        std::string bytes(size, 'x');
        add(bytes);
        const size_t step = size < size_t{1} << 20 ? size / 5 : size - 1;
        for (size_t place = 0; place < size; place += step) {
            bytes[place] ^= 1;
            add(bytes);
        }
    }
    EXPECT_EQ(digests.size(), count);
}

TEST(Sha256, OfWhatCannotBeReadIsAnErrorThatNamesIt) {
    EXPECT_THROW((void)sha256_of_file("/no/such/file"), UsageError);
    EXPECT_THROW((void)sha256_of_file(testing::TempDir()), UsageError);
}

}  // namespace
}  // namespace pb
