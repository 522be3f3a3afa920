#include "report/results/jsonl_writer.hpp"

#include "base/atomic_file.hpp"
#include "base/user_paths.hpp"
#include "record/json_writer.hpp"
#include "report/results/json_values.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <utility>

namespace pb::report {

namespace {

namespace fs = std::filesystem;

/// Returns the time of the file's last change in UTC: 20260102T030405Z.
std::string stamp_of(const std::filesystem::path& file) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0) return "older";
    return fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(facts.st_mtime));
}

/// Whether a study gives images such names: "003-dncnn-p64-h8-b1-fp32.png".
bool is_name_of_an_image(const std::string& name) {
    const size_t digits = name.find_first_not_of("0123456789");
    return digits != std::string::npos && digits >= 3 && name[digits] == '-';
}

/// Whether `place`, a file or a folder, is one of `inputs` or holds one.
bool holds_one_of(const std::set<fs::path>& inputs, const fs::path& place) {
    return std::ranges::any_of(inputs, [&](const fs::path& input) {
        std::error_code missing;
        return fs::equivalent(input, place, missing) || fs::equivalent(input.parent_path(), place, missing);
    });
}

/// Names of the images that the points of a file wrote into its folder.
std::set<fs::path> images_named_in(const fs::path& file) {
    std::set<fs::path> names;
    std::ifstream lines(file);
    for (std::string text; std::getline(lines, text);) {
        const record::Json line = record::Json::parse(text, nullptr, false);
        const auto image = line.is_object() ? line.find("output_file") : line.end();
        if (image == line.end() || !image->is_string()) continue;
        const fs::path name = fs::path(image->get<std::string>()).filename();
        std::error_code ignored;
        if (is_name_of_an_image(name.string()) && fs::is_regular_file(file.parent_path() / name, ignored))
            names.insert(name);
    }
    return names;
}

void keep_in(const fs::path& folder, const fs::path& file) {
    std::error_code failure;
    fs::rename(file, folder / file.filename(), failure);
    if (failure)
        throw Error("cannot keep the earlier " + file.string() + " in " + folder.string() + ": " + failure.message() +
                    "; choose another folder with --out");
}

/// Makes the folder earlier-<time of the last change of `place`> beside it.
fs::path make_earlier_folder(const fs::path& place) {
    const std::string stem = "earlier-" + stamp_of(place);
    std::error_code ignored;
    fs::path folder = place.parent_path() / stem;
    for (int i = 2; fs::exists(folder, ignored); ++i) folder = place.parent_path() / fmt::format("{}-{}", stem, i);
    make_folder(folder);
    return folder;
}

}  // namespace

std::filesystem::path move_aside(const std::filesystem::path& file, std::span<const char* const> made_of_it,
                                 const std::set<fs::path>& inputs) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) == 0) return {};
    std::set<fs::path> names = images_named_in(file);
    names.insert(made_of_it.begin(), made_of_it.end());
    fs::path folder = make_earlier_folder(file);
    for (const fs::path& name : names)
        if (fs::exists(file.parent_path() / name, ignored) && !holds_one_of(inputs, file.parent_path() / name))
            keep_in(folder, file.parent_path() / name);
    keep_in(folder, file);  // last: without it the next run would move nothing
    return folder;
}

std::filesystem::path move_folders_aside(const std::vector<fs::path>& folders) {
    if (folders.empty()) return {};
    fs::path earlier = make_earlier_folder(folders.front());
    for (const fs::path& folder : folders) keep_in(earlier, folder);
    return earlier;
}

std::string resume_line(const record::Environment& environment) {
    return line_of(record::Json{{"type", "resume"}, {"environment", record::json_from(environment)}});
}

JsonlWriter::JsonlWriter(std::filesystem::path file, const config::StudySettings& study,
                         const record::Environment& environment)
    : file_(std::move(file)) {
    open(O_CREAT | O_TRUNC);
    write_line(line_of(record::Json{{"type", "study"},
                                    {"schema_version", kResultsSchemaVersion},
                                    {"environment", record::json_from(environment)},
                                    {"config", settings_json(study)}}));
}

JsonlWriter::JsonlWriter(std::filesystem::path file, const std::vector<std::string>& lines) : file_(std::move(file)) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_whole(file_, text);
    open(0);
}

void JsonlWriter::open(int flags) {
    descriptor_ = Descriptor(::open(file_.c_str(), flags | O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666));
    if (descriptor_.number() < 0) require_descriptors(file_);
    if (descriptor_.number() < 0)
        throw UsageError("cannot write " + file_.string() + ": " + reason_of(errno) +
                         "; choose a folder that can be written with --out");
}

void JsonlWriter::fail(const char* action) const {
    const int code = errno;
    throw Error(std::string("cannot ") + action + " " + file_.string() + ": " + reason_of(code) +
                "; the lines before this one are kept. Make room, or choose another folder with --out");
}

/// Throws when the file has lost its name: a line written into it would be lost without notice.
void JsonlWriter::require_in_place() const {
    struct stat ours {};
    struct stat named {};
    if (::fstat(descriptor_.number(), &ours) != 0 || !S_ISREG(ours.st_mode)) return;
    if (::stat(file_.c_str(), &named) == 0 && named.st_dev == ours.st_dev && named.st_ino == ours.st_ino) return;
    throw Error("cannot write to " + file_.string() +
                (ours.st_nlink == 0
                     ? ": it was removed while the study ran, and with it what was measured so far; run the "
                       "study again, and leave its folder in place"
                     : ": it was renamed, or its folder was, while the study ran; what was measured so "
                       "far is in it: rename it back and go on with --resume"));
}

void JsonlWriter::write_line(std::string line) {
    require_in_place();
    line += '\n';
    const off_t end = ::lseek(descriptor_.number(), 0, SEEK_END);
    if (!write_at(descriptor_.number(), std::nullopt, std::as_bytes(std::span(line)))) {
        const int code = errno;
        // Half a line would make the whole file unreadable for strict readers.
        if (end >= 0) (void)!::ftruncate(descriptor_.number(), end);
        errno = code;
        fail("write to");
    }
    // Pipes and some file systems cannot sync. That does not mean that the line is lost.
    if (::fsync(descriptor_.number()) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP) fail("sync");
}

void JsonlWriter::write_point(const record::PointTrace& trace, const measure::Summary& summary) {
    write_line(line_of(json_of(trace, summary)));
}

void JsonlWriter::write_study_summary(const measure::StudySummary& study) {
    if (!study.empty()) write_line(line_of(json_of(study)));
}

void JsonlWriter::write_end(const measure::Verdict& verdict) {
    record::Json line{{"type", "end"}};
    line.update(json_of(verdict));
    write_line(line_of(line));
}

}  // namespace pb::report
