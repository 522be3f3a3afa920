// Encodes bytes in Base64 (RFC 4648, section 4). The page embeds its pictures this way.
#pragma once

#include <string>
#include <string_view>

namespace pb::report {

[[nodiscard]] inline std::string base64_of(std::string_view bytes) {
    static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const auto byte_at = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (size_t i = 0; i < bytes.size(); i += 3) {
        const unsigned group = byte_at(i) << 16 | byte_at(i + 1) << 8 | byte_at(i + 2);
        for (int shift = 18; shift >= 0; shift -= 6) text += kDigits[group >> shift & 63];
    }
    for (size_t missing = (3 - bytes.size() % 3) % 3, i = 1; i <= missing; ++i) text[text.size() - i] = '=';
    return text;
}

}  // namespace pb::report
