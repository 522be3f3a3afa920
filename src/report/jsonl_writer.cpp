#include "patchbench/report/jsonl_writer.hpp"

#include "report/json_values.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

namespace pb {

namespace {

/// One line; bytes that are not UTF-8 (a file name may hold any) become U+FFFD.
std::string line_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// Writes all of `text`; false with errno when the system refuses.
bool write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

}  // namespace

JsonlWriter::JsonlWriter(std::filesystem::path file, const StudySettings& study, const Environment& environment)
    : file_(std::move(file)) {
    descriptor_ = ::open(file_.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        throw UsageError("cannot write " + file_.string() + ": " + std::generic_category().message(errno) +
                         "; choose a folder that can be written with --out");
    try {
        write_line(line_of(Json{{"type", "study"},
                                {"schema_version", kResultsSchemaVersion},
                                {"environment", json_of(environment)},
                                {"config", settings_json(study)}}));
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

JsonlWriter::~JsonlWriter() { ::close(descriptor_); }

void JsonlWriter::fail(const char* action) const {
    const int code = errno;
    throw Error(std::string("cannot ") + action + " " + file_.string() + ": " + std::generic_category().message(code) +
                "; the lines before this one are kept. Make room, or choose another folder with --out");
}

void JsonlWriter::write_line(std::string line) {
    line += '\n';
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);
    if (!write_all(descriptor_, line)) {
        const int code = errno;
        // Half a line would make the whole file unreadable for strict readers.
        if (end >= 0) (void)!::ftruncate(descriptor_, end);
        errno = code;
        fail("write to");
    }
    // Pipes and some file systems cannot sync, which is no reason to call the line lost.
    if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail("sync");
}

void JsonlWriter::write_point(const PointTrace& trace, const Summary& summary) {
    write_line(line_of(json_of(trace, summary)));
}

void JsonlWriter::write_study_summary(const StudySummary& study) {
    if (!study.empty()) write_line(line_of(json_of(study)));
}

void JsonlWriter::write_end(const Verdict& verdict) {
    Json line{{"type", "end"}};
    line.update(json_of(verdict));
    write_line(line_of(line));
}

}  // namespace pb
