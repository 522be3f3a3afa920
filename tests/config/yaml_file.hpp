// A study file to load or to see refused.
#pragma once

#include "config/load_yaml.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace pb {

/// A YAML file that is gone at the end of the test.
class YamlFile : public testing::Test {
  protected:
    std::filesystem::path write(const std::string& text) {
        std::filesystem::remove(file_);  // truncating a file in place makes some file systems wait for the disk
        std::ofstream(file_, std::ios::binary) << text;
        return file_;
    }
    config::Config load(const std::string& text, const std::vector<std::string>& overrides = {}) {
        return config::load_config(write(text), overrides);
    }
    /// The error without the file's name: ":2:5: unknown key ...".
    std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
        const std::string message = usage_error([&] { (void)load(text, overrides); });
        return message.starts_with(file_.string()) ? message.substr(file_.string().size()) : message;
    }

    const test::TemporaryFolder home_;
    const std::filesystem::path folder_ = home_.path(), file_ = folder_ / "study.yaml";
};

}  // namespace pb
