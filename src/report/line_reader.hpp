// Reads a text file line by line and limits the length of a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace pb::report {

class LineReader {
  public:
    static constexpr size_t kMaxLineBytes = size_t{256} << 20;

    struct Line {
        std::string text;  // without the line end
        int64_t number = 0;
        bool ended = true;  // false: the file ends before the line does
    };

    /// Throws UsageError that names the file and the reason why it cannot be read.
    explicit LineReader(const std::filesystem::path& file);
    /// Returns nothing at the end of the file. Throws UsageError "file:line: ..." for a line above kMaxLineBytes.
    [[nodiscard]] std::optional<Line> next();

  private:
    [[nodiscard]] bool fill();

    std::filesystem::path file_;
    std::ifstream stream_;
    std::string chunk_;
    size_t position_ = 0;
    int64_t number_ = 0;
};

}  // namespace pb::report
