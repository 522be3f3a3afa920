#include "report/line_reader.hpp"

#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace pb::report {

LineReader::LineReader(const std::filesystem::path& file) : file_(file) {
    require_regular_file(file);
    errno = 0;
    stream_.open(file, std::ios::binary);
    if (!stream_) require_descriptors(file);
    if (!stream_)
        throw UsageError("cannot read " + file.string() + ": " +
                         std::generic_category().message(errno != 0 ? errno : EIO));
}

bool LineReader::fill() {
    constexpr size_t kChunk = size_t{1} << 16;
    chunk_.resize(kChunk);
    stream_.read(chunk_.data(), kChunk);
    chunk_.resize(static_cast<size_t>(stream_.gcount()));
    position_ = 0;
    if (stream_.bad())
        throw UsageError("cannot read " + file_.string() + ": " + std::generic_category().message(errno));
    return !chunk_.empty();
}

std::optional<LineReader::Line> LineReader::next() {
    Line line;
    line.number = ++number_;
    while (position_ < chunk_.size() || fill()) {
        const size_t end = chunk_.find('\n', position_);
        line.text.append(chunk_, position_, end == std::string::npos ? end : end - position_);
        if (line.text.size() > kMaxLineBytes)
            throw UsageError(fmt::format("{}:{}: a line above 256 MiB; this is no results.jsonl of patchbench",
                                         file_.string(), number_));
        position_ = end == std::string::npos ? chunk_.size() : end + 1;
        if (end != std::string::npos) return line;
    }
    line.ended = false;
    return line.text.empty() ? std::nullopt : std::optional(line);
}

}  // namespace pb::report
