#include "base/atomic_file.hpp"

#include "support/damage.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string_view>

namespace pb {
namespace {

using test::FileSizeLimit;
using test::read_bytes;
using test::TemporaryFolder;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

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
    EXPECT_EQ(read_bytes(folder / "a.txt"), "hello world");
}

TEST(AtomicFile, WithoutCommitNothingIsLeftAndTheOldFileStays) {
    const TemporaryFolder folder;
    test::write_bytes(folder / "a.txt", "old");
    {
        AtomicFile file(folder / "a.txt");
        AtomicFile second(folder / "a.txt");
        file.append(bytes_of("new"));
        EXPECT_NE(file.path(), second.path());
    }
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
    EXPECT_EQ(read_bytes(folder / "a.txt"), "old");
}

TEST(AtomicFile, KeepsWhoMayReadTheFileThatItReplaces) {
    const TemporaryFolder folder;
    test::write_bytes(folder / "a.txt", "old");
    std::filesystem::permissions(folder / "a.txt", std::filesystem::perms(0600));
    AtomicFile file(folder / "a.txt");
    file.commit();
    EXPECT_EQ(std::filesystem::status(folder / "a.txt").permissions(), std::filesystem::perms(0600));
}

TEST(AtomicFile, APartThatAKilledProcessLeftIsTakenAwayAndOneInUseIsNot) {
    const TemporaryFolder folder;
    const std::string name = AtomicFile(folder / "a.txt").path().filename();
    test::write_bytes(folder / name, "left");
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
    EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
    const FileSizeLimit limit(2);
    EXPECT_THROW(write_whole(folder / "a.txt", "newer"), Error);
    EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
}

TEST(AtomicFile, ReadsWhatIsThereOfWhatIsAskedFor) {
    const TemporaryFolder folder;
    AtomicFile file(folder / "a.txt");
    file.append(bytes_of("hello"));
    std::array<std::byte, 10> bytes{};
    EXPECT_EQ(file.read_at(2, bytes), 3U);
    EXPECT_EQ(bytes[2], std::byte{'o'});
    EXPECT_EQ(file.read_at(5, bytes), 0U);
}

TEST(AtomicFile, WritersThatOpenItByNameAreCommittedToo) {
    const TemporaryFolder folder;
    AtomicFile file(folder / "a.txt");
    test::write_bytes(file.path(), "xy");
    file.commit();
    EXPECT_EQ(read_bytes(folder / "a.txt"), "xy");
}

}  // namespace
}  // namespace pb
