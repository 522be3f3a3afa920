#include "engine/checkpoint/byte_reader.hpp"

#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace pb::engine {

std::vector<std::byte> read_file(const std::filesystem::path& file) {
    constexpr uintmax_t kLargest = uintmax_t{4} << 30;  // DRUNet in f64 with an optimiser's state is below 1 GiB
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed))
        throw UsageError("cannot read " + file.string() + ": " +
                         (std::filesystem::exists(file, failed) ? "not a regular file" : "no such file") +
                         "; name a .safetensors, .pth or .onnx file");
    const auto size = std::filesystem::file_size(file, failed);
    if (!failed && size > kLargest)
        throw UsageError(file.string() + " is larger than 4 GiB: no weights of these networks are");
    std::vector<std::byte> bytes(failed ? 0 : size);
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) require_descriptors(file);
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (failed || !stream)
        throw UsageError("cannot read " + file.string() + ": check the rights of the file and the disk");
    return bytes;
}

std::string shown(std::string_view text) {
    constexpr size_t kLongest = 80;
    std::string quoted = "'";
    for (const char c : text.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
    return quoted + (text.size() > kLongest ? "...'" : "'");
}

Bytes ByteReader::take(uint64_t count) {
    if (count > left())
        fail(fmt::format("truncated or with lying sizes: {} bytes are announced, {} are left", count, left()));
    const Bytes taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
}

std::string_view ByteReader::take_text(uint64_t count) {
    const Bytes bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view ByteReader::take_line() {
    const Bytes rest = bytes_.subspan(position_);
    const auto newline = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (newline == rest.end()) fail("truncated: a line has no end");
    const std::string_view line = take_text(static_cast<uint64_t>(newline - rest.begin()));
    (void)take(1);
    return line;
}

void ByteReader::fail(const std::string& reason) const {
    throw UsageError(fmt::format("{}, byte {}: {}", name_, offset(), reason));
}

}  // namespace pb::engine
