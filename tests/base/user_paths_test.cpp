#include "base/user_paths.hpp"

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>

namespace pb {
namespace {

namespace fs = std::filesystem;

class UserPaths : public ::testing::Test {
  protected:
    [[nodiscard]] fs::path file(const char* name) const {
        std::ofstream(folder_ / name) << "content";
        return folder_ / name;
    }
    const test::TemporaryFolder home_;
    const fs::path folder_ = home_.path();
};

TEST_F(UserPaths, OnlyARegularFileIsRead) {
    EXPECT_NO_THROW(require_regular_file(file("there")));
    fs::create_symlink("there", folder_ / "link");
    EXPECT_NO_THROW(require_regular_file(folder_ / "link"));
    fs::create_symlink("loop", folder_ / "loop");
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
    for (const fs::path& path :
         {folder_, folder_ / "missing", folder_ / "loop", folder_ / "fifo", fs::path("/dev/zero")})
        EXPECT_THROW(require_regular_file(path), UsageError) << path;
}

TEST_F(UserPaths, AnOutputIsNoInputUnderAnyName) {
    const fs::path input = file("input");
    fs::create_hard_link(input, folder_ / "hard");
    fs::create_symlink("input", folder_ / "soft");
    for (const fs::path& output : {input, folder_ / "." / "input", folder_ / "hard", folder_ / "soft"})
        EXPECT_THROW(require_not_input(output, input), UsageError) << output;
    EXPECT_NO_THROW(require_not_input(file("other"), input));
    EXPECT_NO_THROW(require_not_input(folder_ / "new", input));
    EXPECT_NO_THROW(require_not_input("", input));
}

TEST_F(UserPaths, AFileThatIsWrittenAgainWithinASecondHasAnotherVersion) {
    const fs::path path = file("data");
    const auto second = std::chrono::floor<std::chrono::seconds>(fs::file_time_type::clock::now());
    fs::last_write_time(path, second);
    const std::string version = file_version(path);
    EXPECT_FALSE(was_written_to(path, version));
    fs::last_write_time(path, second + std::chrono::microseconds(1));
    EXPECT_NE(file_version(path), version);
    EXPECT_TRUE(was_written_to(path, version));
    fs::rename(file("other"), path);
    EXPECT_FALSE(was_written_to(path, version)) << "another file took its place";
}

TEST_F(UserPaths, AFolderIsMadeOrRefusedByName) {
    EXPECT_NO_THROW(make_folder(folder_ / "a" / "b"));
    EXPECT_NO_THROW(make_folder(folder_ / "a" / "b"));
    const fs::path taken = file("taken");
    for (const fs::path& folder : {taken, taken / "below"})
        EXPECT_THAT(usage_error([&] { make_folder(folder); }),
                    testing::HasSubstr("'" + taken.string() + "' is there and is no folder"));
}

}  // namespace
}  // namespace pb
