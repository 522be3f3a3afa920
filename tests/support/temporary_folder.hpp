// Folders for tests.
#pragma once

#include "patchbench/base/error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace pb::test {

/// Made with a name that no other process has, removed with all that is in it.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "patchbench-test.XXXXXX").string();
        require(::mkdtemp(name.data()) != nullptr, "no temporary folder");
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    /// Writes a file, and the folders in which it lies.
    void write(const std::filesystem::path& name, std::string_view text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << text;
    }
    /// The names of what is in it, sorted.
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) all.push_back(entry.path().filename());
        std::ranges::sort(all);
        return all;
    }

  private:
    std::filesystem::path path_;
};

/// A test in a folder of its own.
class InFolder : public testing::Test {
  protected:
    const TemporaryFolder folder;
};

}  // namespace pb::test
