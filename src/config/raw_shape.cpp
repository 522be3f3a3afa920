#include "patchbench/config/raw_shape.hpp"

#include "patchbench/base/enum_names.hpp"
#include "patchbench/config/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace pb {

namespace {

[[noreturn]] void refuse(std::string_view text) {
    throw UsageError(
        "image.raw = '" + std::string(text) +
        "': must be height x width x channels : type, as 2000x3000x1:u16 (channels 1 to 4, with alpha 2 or "
        "4; u8, u16 or f32)");
}

}  // namespace

RawShape parse_raw_shape(std::string_view text) {
    std::array<int64_t, 3> numbers{};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (size_t i = 0; i < numbers.size(); ++i) {
        const auto [next, failure] = std::from_chars(at, end, numbers[i]);
        const bool last = i + 1 == numbers.size();
        if (failure != std::errc() || next == end || *next != (last ? ':' : 'x')) refuse(text);
        at = next + 1;
    }
    const auto [height, width, channels] = numbers;
    const std::string_view type(at, static_cast<size_t>(end - at));
    const bool edges = height >= 1 && width >= 1 && static_cast<double>(std::max(height, width)) <= kMaxEdge;
    if (!edges || channels < 1 || channels > 4 || (type != "u8" && type != "u16" && type != "f32")) refuse(text);
    return {{height, width}, channels, parse_enum<DType>(type)};
}

}  // namespace pb
