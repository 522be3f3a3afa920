#include "config/raw_shape.hpp"

#include "config/settings.hpp"

#include "patchbench/base/enum_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>

namespace pb {

namespace {

[[noreturn]] void refuse(std::string_view text) {
    throw UsageError(
        "image.raw = '" + std::string(text) +
        "': must be height x width x channels : type, as 2000x3000x1:u16 (2 or 4 channels: with alpha, more: bands; "
        "u8, u16, u32, i16, f16, f32 or f64)");
}

std::optional<DType> find_type(std::string_view text) {
    for (const auto& [type, name] : EnumNames<DType>::names)
        if (name == text && type != DType::bf16) return type;
    return std::nullopt;
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
    constexpr int64_t kMostBands = 65535;
    const auto dtype = find_type(type);
    if (!edges || channels < 1 || channels > kMostBands || !dtype) refuse(text);
    return {{height, width}, channels, *dtype};
}

}  // namespace pb
