#include "image/formats/random_access.hpp"

#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace pb::image {

// O_NONBLOCK: opening a named pipe must not block the program. The flag has no effect on regular files.
RandomAccessFile::RandomAccessFile(const std::filesystem::path& file)
    : path_(file), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_.number() < 0) require_descriptors(file);
    if (descriptor_.number() < 0) refuse(reason_of(errno), "check the name and the permissions");
    struct stat status {};
    const bool known = ::fstat(descriptor_.number(), &status) == 0;
    const bool regular = known && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
        size_ = static_cast<uint64_t>(status.st_size);
        return;
    }
    if (regular) refuse("the file is empty", "write or copy it again");
    if (known && S_ISDIR(status.st_mode)) refuse("it is a folder", "name an image file in it");
    refuse("it is not a regular file", "name an image file");
}

int64_t RandomAccessFile::try_read_at(uint64_t offset, std::span<std::byte> bytes) const noexcept {
    return pb::read_at(descriptor_.number(), offset, bytes);
}

void RandomAccessFile::read_at(uint64_t offset, std::span<std::byte> bytes) const {
    const int64_t got = try_read_at(offset, bytes);
    if (got < 0) refuse(fmt::format("reading failed at byte {}: {}", offset, reason_of(errno)), "check the disk");
    if (static_cast<size_t>(got) < bytes.size())
        refuse_damaged(fmt::format("it ends at byte {} but {} bytes are expected at {}",
                                   offset + static_cast<uint64_t>(got), bytes.size(), offset));
}

std::vector<std::byte> RandomAccessFile::read_all() const {
    std::vector<std::byte> bytes(size_);
    read_at(0, bytes);
    return bytes;
}

void RandomAccessFile::refuse(const std::string& what, const std::string& remedy) const {
    throw UsageError("cannot read image " + path_.string() + ": " + what + "; " + remedy);
}

void RandomAccessFile::refuse_damaged(const std::string& what) const {
    refuse("the file is damaged or truncated (" + what + ")", "copy or export it again");
}

void RandomAccessFile::require_room(const StatedSize& size, uint64_t bytes) const {
    const auto of = [](uint64_t a, uint64_t b) { return static_cast<double>(a) * static_cast<double>(b); };  // < 2^128
    if (of(size.height, size.row_units) > of(bytes, size.units_per_byte))
        refuse_damaged(fmt::format("its header says {}x{} px (height x width), which {} bytes cannot hold", size.height,
                                   size.width, bytes));
}

}  // namespace pb::image
