#include "base/sha256.hpp"

#include "base/descriptor.hpp"
#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/base/shape.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <vector>

namespace pb {
namespace {

class Digest {
  public:
    Digest() : context_(EVP_MD_CTX_new()) {
        require(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1,
                "libcrypto has no SHA-256 here: install another build of OpenSSL");
    }

    void add(std::span<const std::byte> bytes) {
        require(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 failed in libcrypto");
    }

    [[nodiscard]] std::string hex() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned int size = 0;
        require(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "SHA-256 failed in libcrypto");
        return fmt::format("{:02x}", fmt::join(std::span(digest.data(), size), ""));
    }

  private:
    Handle<EVP_MD_CTX*, EVP_MD_CTX_free> context_;
};

std::ifstream open_bytes(const std::filesystem::path& file) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) require_descriptors(file);
    return stream;
}

[[noreturn]] void refuse_unreadable(const std::filesystem::path& file) {
    throw UsageError("cannot read " + file.string() + ": check that the file exists and its rights");
}

}  // namespace

std::string sha256_of(std::span<const std::byte> bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
    std::ifstream stream = open_bytes(file);
    Digest digest;
    std::vector<char> piece(size_t{1} << 20);
    while (stream) {
        stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        digest.add(std::as_bytes(std::span(piece.data(), static_cast<size_t>(stream.gcount()))));
    }
    // A folder opens but cannot be read; only the end of the file may stop the reading.
    if (!stream.eof()) refuse_unreadable(file);
    return digest.hex();
}

std::string sha256_of_pieces(const std::filesystem::path& file) {
    constexpr int64_t kMostPieces = 1024, kPieceBytes = int64_t{64} << 10;
    std::ifstream stream = open_bytes(file);
    const int64_t size = stream.seekg(0, std::ios::end).tellg();
    Digest digest;
    digest.add(std::as_bytes(std::span(&size, 1)));
    std::vector<char> piece(static_cast<size_t>(std::clamp<int64_t>(size, 0, kPieceBytes)));
    const int64_t pieces = std::clamp<int64_t>(ceil_div(size, kPieceBytes), 1, kMostPieces);
    for (int64_t number = 0; number < pieces; ++number) {
        stream.seekg(number == 0 ? 0 : (size - std::ssize(piece)) * number / (pieces - 1));
        stream.read(piece.data(), std::ssize(piece));
        if (!stream) refuse_unreadable(file);
        digest.add(std::as_bytes(std::span(piece)));
    }
    return digest.hex();
}

}  // namespace pb
