#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

namespace pb {

namespace fs = std::filesystem;

namespace {

/// What stands where a part of `folder` should be, or nothing.
fs::path find_no_folder(const fs::path& folder) {
    fs::path part;
    std::error_code ignored;
    for (const auto& step : folder) {
        part /= step;
        if (fs::exists(part, ignored) && !fs::is_directory(part, ignored)) return part;
    }
    return {};
}

}  // namespace

void require_regular_file(const fs::path& file) {
    std::error_code error;
    const auto status = fs::status(file, error);
    const auto refuse = [&](const std::string& why) { throw UsageError("cannot read " + file.string() + ": " + why); };
    if (status.type() == fs::file_type::not_found) refuse("there is no such file");
    if (status.type() == fs::file_type::none) refuse(error.message());
    if (fs::is_directory(status)) refuse("it is a folder; name a file in it");
    if (!fs::is_regular_file(status)) refuse("it is not a regular file");
}

bool was_written_to(const fs::path& file, const std::string& version) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0) return false;
    return version.starts_with(fmt::format("{} {} ", facts.st_dev, facts.st_ino)) && file_version(file) != version;
}

std::string file_version(const fs::path& file) {
    struct stat facts {};
    if (::stat(file.c_str(), &facts) != 0) return "";
    return fmt::format("{} {} {} {}.{}", facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtim.tv_sec,
                       facts.st_mtim.tv_nsec);
}

void require_not_input(const fs::path& output, const fs::path& input) {
    std::error_code error;  // one of them is not there: then they are two
    if (fs::equivalent(output, input, error))
        throw UsageError("'" + output.string() + "' is an input itself (" + input.string() +
                         "); inputs are never modified: name another output");
}

void make_folder(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error && fs::is_directory(folder, error)) return;
    const fs::path blocking = find_no_folder(folder);
    throw UsageError("cannot make the folder '" + folder.string() + "': " +
                     (blocking.empty() ? error.message() : "'" + blocking.string() + "' is there and is no folder") +
                     "; choose another one");
}

void require_descriptors(const fs::path& file) {
    const int code = errno;
    if (code != EMFILE && code != ENFILE) return;
    rlimit limit{};
    std::string whose = "this host has no file descriptor left";
    if (code == EMFILE && ::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        whose = fmt::format("this process may have {} file descriptors", limit.rlim_cur);
    throw Error("cannot open " + file.string() + ": too many files are open: " + whose +
                "; raise the limit (ulimit -n), of the job or of the host");
}

std::string reason_of(int code) { return std::generic_category().message(code); }

std::string describe(const fs::filesystem_error& error) {
    return error.path1().string() + ": " + error.code().message();
}

std::string environment_value(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

fs::path program_file() {
    std::error_code unknown;
    return fs::read_symlink("/proc/self/exe", unknown);
}

fs::path program_folder() { return program_file().parent_path(); }

std::optional<fs::path> find_folder_with(const fs::path& file) {
    std::error_code unknown;
    for (fs::path folder = program_folder(); folder.has_relative_path(); folder = folder.parent_path())
        for (const fs::path& place : {folder, folder / "share/patchbench"})
            if (fs::exists(place / file, unknown)) return place;
    return std::nullopt;
}

}  // namespace pb
