#include "base/atomic_file.hpp"

#include "image_support.hpp"
#include "support/file_size_limit.hpp"

#include <gmock/gmock.h>

namespace pb::image {
namespace {

using test::bytes_of;
using test::FileSizeLimit;
using test::read_bytes;
using test::TemporaryFolder;
using testing::HasSubstr;

TEST(AtomicFile, AppearsAtCommitAndNotBefore) {
    const TemporaryFolder folder;
    {
        AtomicFile file(folder / "a.txt");
        file.append(bytes_of("hello "));
        file.append(bytes_of("world"));
        EXPECT_FALSE(std::filesystem::exists(folder / "a.txt"));
        file.commit();
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
    EXPECT_EQ(std::string(read_bytes(folder / "a.txt").data(), 11), "hello world");
}

TEST(AtomicFile, WithoutCommitNothingIsLeftAndTheOldFileStays) {
    const TemporaryFolder folder;
    test::write_bytes(folder / "a.txt", {'o', 'l', 'd'});
    {
        AtomicFile file(folder / "a.txt");
        AtomicFile second(folder / "a.txt");
        file.append(bytes_of("new"));
        EXPECT_NE(file.path(), second.path());
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
    EXPECT_EQ(read_bytes(folder / "a.txt"), (std::vector<char>{'o', 'l', 'd'}));
}

TEST(AtomicFile, KeepsWhoMayReadTheFileThatItReplaces) {
    const TemporaryFolder folder;
    test::write_bytes(folder / "a.txt", {'o', 'l', 'd'});
    std::filesystem::permissions(folder / "a.txt", std::filesystem::perms(0600));
    AtomicFile file(folder / "a.txt");
    file.commit();
    EXPECT_EQ(std::filesystem::status(folder / "a.txt").permissions(), std::filesystem::perms(0600));
}

TEST(AtomicFile, APartThatAKilledProcessLeftIsTakenAwayAndOneInUseIsNot) {
    const TemporaryFolder folder;
    const std::string name = AtomicFile(folder / "a.txt").path().filename();
    test::write_bytes(folder / name, {'l', 'e', 'f', 't'});
    AtomicFile file(folder / "a.txt");
    EXPECT_EQ(file.path().filename(), name);
    EXPECT_NE(AtomicFile(folder / "a.txt").path().filename(), name);
    file.commit();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
}

TEST(AtomicFile, RefusesWhatCannotBeWritten) {
    const TemporaryFolder folder;
    EXPECT_THROW(AtomicFile(folder / "missing/a.txt"), UsageError);
    EXPECT_THROW(AtomicFile(folder.path()), UsageError);
    EXPECT_THROW(AtomicFile("/dev/null"), UsageError);
    EXPECT_THROW(check_can_create("/proc/a.txt"), UsageError);
    check_can_create(folder / "a.txt");
    EXPECT_TRUE(folder.names().empty());
}

TEST(AtomicFile, AWholeTextReplacesAnOlderFileOrLeavesIt) {
    const TemporaryFolder folder;
    write_whole(folder / "a.txt", "old and longer");
    write_whole(folder / "a.txt", "new");
    EXPECT_EQ(read_bytes(folder / "a.txt"), (std::vector<char>{'n', 'e', 'w'}));
    const FileSizeLimit limit(2);
    EXPECT_THROW(write_whole(folder / "a.txt", "newer"), Error);
    EXPECT_EQ(read_bytes(folder / "a.txt"), (std::vector<char>{'n', 'e', 'w'}));
}

TEST(AtomicFile, WritersThatOpenItByNameAreCommittedToo) {
    const TemporaryFolder folder;
    AtomicFile file(folder / "a.txt");
    test::write_bytes(file.path(), {'x', 'y'});
    file.commit();
    EXPECT_EQ(read_bytes(folder / "a.txt"), (std::vector<char>{'x', 'y'}));
}

TEST(AtomicFile, FullDiskIsAnErrorAndLeavesNothing) {
    const TemporaryFolder folder;
    const Image image = test::make_pattern({200, 200}, 3, DType::u8);
    for (const std::string name : {"a.png", "a.jpg", "a.tif", "a.npy"}) {
        const FileSizeLimit limit(1000);
        try {
            save_image({image.view(), {}, nullptr}, folder / name);
            ADD_FAILURE() << name;
        } catch (const Error& error) {
            EXPECT_THAT(error.what(), HasSubstr(name));
            EXPECT_THAT(error.what(), HasSubstr("File too large"));
        }
    }
    EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace pb::image
