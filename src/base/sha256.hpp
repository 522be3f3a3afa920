// SHA-256 of files and memory: names the exact weights and images behind a result. Not for passwords or signatures.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace pb {

/// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string sha256_of(std::span<const std::byte> bytes);

/// As `sha256_of`, read in pieces: any size. Throws UsageError when the file cannot be read.
[[nodiscard]] std::string sha256_of_file(const std::filesystem::path& file);

/// The digest of a file's size and of 1024 pieces of 64 KiB, which are spread evenly from its first byte to its last.
/// It covers all bytes of a file of 64 MiB or less. Throws UsageError as above.
[[nodiscard]] std::string sha256_of_pieces(const std::filesystem::path& file);

}  // namespace pb
