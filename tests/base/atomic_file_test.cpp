#include "base/atomic_file.hpp"

#include "support/damage.hpp"
#include "support/file_size_limit.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pb {
namespace {

using test::FileSizeLimit;
using test::read_bytes;
using AtomicFiles = test::InFolder;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST_F(AtomicFiles, AppearsAtCommitAndNotBefore) {
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

TEST_F(AtomicFiles, WithoutCommitNothingIsLeftAndTheOldFileStays) {
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

TEST_F(AtomicFiles, KeepsWhoMayReadTheFileThatItReplaces) {
    test::write_bytes(folder / "a.txt", "old");
    std::filesystem::permissions(folder / "a.txt", std::filesystem::perms(0600));
    AtomicFile file(folder / "a.txt");
    file.commit();
    EXPECT_EQ(std::filesystem::status(folder / "a.txt").permissions(), std::filesystem::perms(0600));
}

TEST_F(AtomicFiles, APartThatAKilledProcessLeftIsTakenAwayAndOneInUseIsNot) {
    const std::string name = AtomicFile(folder / "a.txt").path().filename();
    test::write_bytes(folder / name, "left");
    test::write_bytes(folder / ".a.txt.1.part", "left by another one");
    AtomicFile file(folder / "a.txt");
    EXPECT_EQ(folder.names(), std::vector<std::string>{name});
    EXPECT_EQ(file.path().filename(), name);
    EXPECT_NE(AtomicFile(folder / "a.txt").path().filename(), name);
    file.commit();
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.txt"});
}

/// Writes the file many times, each time of one letter, and leaves some parts behind as a killed process does. Returns
/// how often writing failed, or another file than a whole one was there.
int write_again_and_again(const std::filesystem::path& path, char letter) {
    constexpr int kTimes = 120;
    constexpr size_t kLength = 20000;
    int num_wrong = 0;
    for (int i = 0; i < kTimes; ++i) {
        if (i % 20 == 19 && ::fork() == 0) {
            AtomicFile left(path);
            left.append(bytes_of("left behind"));
            std::_Exit(0);
        }
        try {
            AtomicFile file(path);
            for (size_t length = 0; length < kLength; length += 1000) file.append(bytes_of(std::string(1000, letter)));
            file.commit();
        } catch (const Error&) {
            ++num_wrong;
        }
        const std::string whole = read_bytes(path);
        if (whole.empty() || whole != std::string(kLength, whole.front())) ++num_wrong;
    }
    while (::wait(nullptr) > 0) continue;
    return num_wrong;
}

TEST_F(AtomicFiles, SeveralProcessesThatWriteOneNameEachWriteAWholeFile) {
    std::vector<pid_t> writers;
    for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) {
        const pid_t writer = ::fork();
        ASSERT_GE(writer, 0);
        if (writer == 0) std::_Exit(std::min(write_again_and_again(folder / "a.txt", letter), 100));
        writers.push_back(writer);
    }
    for (const pid_t writer : writers) {
        int status = 0;
        ASSERT_EQ(::waitpid(writer, &status, 0), writer);
        EXPECT_EQ(status, 0) << "files that were not whole, times 256";
    }
    const AtomicFile last(folder / "a.txt");  // takes away what was left
    EXPECT_EQ(last.path().filename(), ".a.txt.0.part");
}

TEST_F(AtomicFiles, RefusesWhatCannotBeWritten) {
    EXPECT_THROW(AtomicFile(folder / "missing/a.txt"), UsageError);
    EXPECT_THROW(AtomicFile(folder.path()), UsageError);
    EXPECT_THROW(AtomicFile("/dev/null"), UsageError);
    EXPECT_THROW(check_can_create("/proc/a.txt"), UsageError);
    check_can_create(folder / "a.txt");
    EXPECT_TRUE(folder.names().empty());
}

TEST_F(AtomicFiles, AWholeTextReplacesAnOlderFileOrLeavesIt) {
    write_whole(folder / "a.txt", "old and longer");
    write_whole(folder / "a.txt", "new");
    EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
    const FileSizeLimit limit(2);
    EXPECT_THROW(write_whole(folder / "a.txt", "newer"), Error);
    EXPECT_EQ(read_bytes(folder / "a.txt"), "new");
}

TEST_F(AtomicFiles, ANameMayBeAsLongAsTheFileSystemTakes) {
    const std::string longest(255, 'x');
    write_whole(folder / longest, "new");
    EXPECT_EQ(folder.names(), std::vector<std::string>{longest});
}

TEST_F(AtomicFiles, ReadsWhatIsThereOfWhatIsAskedFor) {
    AtomicFile file(folder / "a.txt");
    file.append(bytes_of("hello"));
    std::array<std::byte, 10> bytes{};
    EXPECT_EQ(file.read_at(2, bytes), 3U);
    EXPECT_EQ(bytes[2], std::byte{'o'});
    EXPECT_EQ(file.read_at(5, bytes), 0U);
}

TEST_F(AtomicFiles, WritersThatOpenItByNameAreCommittedToo) {
    AtomicFile file(folder / "a.txt");
    test::write_bytes(file.path(), "xy");
    file.commit();
    EXPECT_EQ(read_bytes(folder / "a.txt"), "xy");
}

}  // namespace
}  // namespace pb
