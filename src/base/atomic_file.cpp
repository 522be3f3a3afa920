#include "base/atomic_file.hpp"

#include "base/fault.hpp"
#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

namespace pb {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

void check_target(const std::filesystem::path& file) {
    if (!file.has_filename()) throw UsageError("'" + file.string() + "' is not a file name: name the file to write");
    std::error_code ignored;
    const auto status = std::filesystem::status(file, ignored);
    if (std::filesystem::is_directory(status))
        throw UsageError("cannot write " + file.string() + ": it is a folder; name a file in it");
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw UsageError("cannot write " + file.string() + ": it is not a regular file; choose another name");
    if (!std::filesystem::is_directory(folder_of(file), ignored))
        throw UsageError("cannot write " + file.string() + ": no folder " + folder_of(file).string() +
                         "; create it first, or was it removed or renamed meanwhile?");
}

std::filesystem::path part_name(const std::filesystem::path& file, int attempt) {
    constexpr size_t kLongestStem = 200;  // 255 bytes is what file systems take
    const std::string stem = file.filename().string().substr(0, kLongestStem);
    return folder_of(file) / fmt::format(".{}.{}.part", stem, attempt);
}

// Note [Parts and their locks]: a part is locked as long as its writer lives, so that one which can be locked was left
// by a process that was killed. Several processes may write one file, and each may remove a part, make one of the same
// name and lock it between two calls of another. So whoever unlinks or renames a part holds the lock of the file that
// has the name then, and whoever has just locked one looks whether it still has its name.

/// Whether `part` is the name of the open file.
bool is_named(int descriptor, const std::filesystem::path& part) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(descriptor, &opened) == 0 && ::lstat(part.c_str(), &named) == 0 &&
           std::pair(opened.st_dev, opened.st_ino) == std::pair(named.st_dev, named.st_ino);
}

/// Note [Parts and their locks].
void remove_abandoned(const std::filesystem::path& part) {
    const Descriptor opened(::open(part.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (opened.number() < 0 || ::flock(opened.number(), LOCK_EX | LOCK_NB) != 0) return;
    if (is_named(opened.number(), part)) ::unlink(part.c_str());
}

[[noreturn]] void fail_to(const char* action, const std::filesystem::path& file) {
    const int code = errno;
    if (code == ENOENT)
        throw Error(std::string("cannot ") + action + " " + file.string() +
                    ": its folder was removed or renamed meanwhile; leave it in its place while this runs");
    throw Error(std::string("cannot ") + action + " " + file.string() + ": " + reason_of(code) +
                "; nothing was written under this name. Make room, or choose another folder");
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path file) : final_(std::move(file)) {
    check_target(final_);
    constexpr int kAttempts = 1000;  // names may be taken by other writers of this file
    bool taken = true;
    int attempt = 0;
    for (; attempt < kAttempts && taken; ++attempt) {
        part_ = part_name(final_, attempt);
        remove_abandoned(part_);
        descriptor_ = ::open(part_.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
        taken = descriptor_ < 0 ? errno == EEXIST : !claim_part();
    }
    if (descriptor_ < 0) require_descriptors(final_);
    if (descriptor_ < 0)
        throw UsageError("cannot write " + final_.string() + ": " + reason_of(errno) +
                         "; choose a folder that can be written, or make room");
    for (std::error_code ignored; std::filesystem::exists(part_name(final_, attempt), ignored); ++attempt)
        remove_abandoned(part_name(final_, attempt));  // several writers were killed
}

AtomicFile::~AtomicFile() {
    if (descriptor_ < 0) return;
    ::unlink(part_.c_str());
    ::close(descriptor_);
}

/// Locks the new part; false where another writer takes it for abandoned, or took it before (Note [Parts and their
/// locks]). File systems without locks have neither.
bool AtomicFile::claim_part() {
    const bool is_taken = ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_taken && is_named(descriptor_, part_)) return true;
    ::close(std::exchange(descriptor_, -1));
    return false;
}

void AtomicFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
    if (!pb::write_at(descriptor_, offset, bytes)) fail_to("write", final_);
}

void AtomicFile::reserve(uint64_t bytes) {
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0) fail_to("write", final_);
    const auto length = static_cast<off_t>(std::max(bytes, static_cast<uint64_t>(status.st_size)));
    while (::fallocate(descriptor_, 0, 0, length) != 0) {
        if (errno == EINTR) continue;
        // File systems that cannot reserve get a file of that length: a full disk is then met while it is written.
        const bool unable = errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
        if (!unable || ::ftruncate(descriptor_, length) != 0) fail_to("reserve the room of", final_);
        return;
    }
}

void AtomicFile::append(std::span<const std::byte> bytes) {
    write_at(appended_, bytes);
    appended_ += bytes.size();
}

size_t AtomicFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
    const ssize_t got = pb::read_at(descriptor_, offset, bytes);
    if (got < 0) fail_to("read back", final_);
    return static_cast<size_t>(got);
}

void AtomicFile::commit() {
    inject_fault("write");
    if (::fsync(descriptor_) != 0) fail_to("write", final_);
    struct stat replaced {};
    if (::stat(final_.c_str(), &replaced) == 0) (void)::fchmod(descriptor_, replaced.st_mode & 0777U);
    const int descriptor = std::exchange(descriptor_, -1);
    const int lock = ::dup(descriptor);  // holds until the part has its name
    // On network file systems the last error of a write may come only here.
    if (::close(descriptor) != 0 || ::rename(part_.c_str(), final_.c_str()) != 0) {
        const int code = errno;
        ::unlink(part_.c_str());
        ::close(lock);
        errno = code;
        fail_to("write", final_);
    }
    ::close(lock);
    // The file is complete; some file systems cannot flush folders, which is no reason to call it failed.
    const Descriptor folder(::open(folder_of(final_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.number() >= 0) (void)::fsync(folder.number());
}

PartFile::PartFile(const std::filesystem::path& part, std::filesystem::path final_name)
    : final_(std::move(final_name)), descriptor_(::open(part.c_str(), O_WRONLY | O_CLOEXEC)) {
    if (descriptor_.number() < 0) require_descriptors(part);
    if (descriptor_.number() < 0)
        throw Error("cannot write " + final_.string() + ": its temporary file " + part.string() +
                    " cannot be opened here (" + reason_of(errno) +
                    "); name a folder that all nodes see, with its whole path");
}

void PartFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
    if (!pb::write_at(descriptor_.number(), offset, bytes)) fail_to("write", final_);
}

void PartFile::flush() {
    if (::fsync(descriptor_.number()) != 0) fail_to("write", final_);
}

void write_whole(const std::filesystem::path& file, std::string_view text) {
    AtomicFile out(file);
    out.append(std::as_bytes(std::span(text)));
    out.commit();
}

void check_can_create(const std::filesystem::path& file) { const AtomicFile probe(file); }

}  // namespace pb
