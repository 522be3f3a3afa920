#include "base/sha256.hpp"

#include "base/handle.hpp"
#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <openssl/evp.h>

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
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::string text;
        for (unsigned int i = 0; i < size; ++i) {
            text += kDigits[digest[i] >> 4];
            text += kDigits[digest[i] & 15];
        }
        return text;
    }

  private:
    Handle<EVP_MD_CTX*, EVP_MD_CTX_free> context_;
};

}  // namespace

std::string sha256_of(std::span<const std::byte> bytes) {
    Digest digest;
    digest.add(bytes);
    return digest.hex();
}

std::string sha256_of_file(const std::filesystem::path& file) {
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) require_descriptors(file);
    Digest digest;
    std::vector<char> piece(size_t{1} << 20);
    while (stream) {
        stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        digest.add(std::as_bytes(std::span(piece.data(), static_cast<size_t>(stream.gcount()))));
    }
    // A folder opens but cannot be read; only the end of the file may stop the reading.
    if (!stream.eof()) throw UsageError("cannot read " + file.string() + ": check that the file exists and its rights");
    return digest.hex();
}

}  // namespace pb
