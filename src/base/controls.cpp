#include "base/controls.hpp"

#include <algorithm>

namespace pb {

namespace {

/// Independent of the locale, unlike std::iscntrl.
bool is_control(char c) {
    constexpr char kDelete = 0x7F;
    const auto code = static_cast<unsigned char>(c);
    return code < ' ' || code == kDelete;
}

}  // namespace

bool has_controls(std::string_view text) { return std::any_of(text.begin(), text.end(), is_control); }

std::string without_controls(std::string text, char mark, std::string_view kept) {
    const auto is_replaced = [&](char c) { return is_control(c) && kept.find(c) == std::string_view::npos; };
    std::replace_if(text.begin(), text.end(), is_replaced, mark);
    return text;
}

}  // namespace pb
