#include "engine/checkpoint/element_type.hpp"

#include "base/half.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace pb::engine {
namespace {

struct TypeRow {
    ElementType type;
    size_t bytes;
    std::string_view safetensors;
    std::string_view storage;
};

constexpr std::array<TypeRow, 10> kTypes{{{ElementType::f64, 8, "F64", "DoubleStorage"},
                                          {ElementType::f32, 4, "F32", "FloatStorage"},
                                          {ElementType::f16, 2, "F16", "HalfStorage"},
                                          {ElementType::bf16, 2, "BF16", "BFloat16Storage"},
                                          {ElementType::i64, 8, "I64", "LongStorage"},
                                          {ElementType::i32, 4, "I32", "IntStorage"},
                                          {ElementType::i16, 2, "I16", "ShortStorage"},
                                          {ElementType::i8, 1, "I8", "CharStorage"},
                                          {ElementType::u8, 1, "U8", "ByteStorage"},
                                          {ElementType::boolean, 1, "BOOL", "BoolStorage"}}};

std::optional<ElementType> find_type(std::string_view TypeRow::*column, std::string_view name) {
    const auto* const row = std::ranges::find(kTypes, name, column);
    return row == kTypes.end() ? std::nullopt : std::optional(row->type);
}

// Element `index` without conversion: the file and all supported machines are little-endian.
template <class T>
T raw_at(Bytes bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

}  // namespace

size_t size_of(ElementType type) { return kTypes.at(static_cast<size_t>(type)).bytes; }

std::optional<ElementType> find_safetensors_type(std::string_view name) {
    return find_type(&TypeRow::safetensors, name);
}

std::optional<ElementType> find_storage_type(std::string_view name) { return find_type(&TypeRow::storage, name); }

float element_at(Bytes bytes, ElementType type, size_t index) {
    switch (type) {
        case ElementType::f64:
            return static_cast<float>(raw_at<double>(bytes, index));
        case ElementType::f32:
            return raw_at<float>(bytes, index);
        case ElementType::f16:
            return f16_value(raw_at<uint16_t>(bytes, index));
        case ElementType::bf16:
            return bf16_value(raw_at<uint16_t>(bytes, index));
        case ElementType::i64:
            return static_cast<float>(raw_at<int64_t>(bytes, index));
        case ElementType::i32:
            return static_cast<float>(raw_at<int32_t>(bytes, index));
        case ElementType::i16:
            return static_cast<float>(raw_at<int16_t>(bytes, index));
        case ElementType::i8:
            return static_cast<float>(raw_at<int8_t>(bytes, index));
        case ElementType::u8:
            return static_cast<float>(raw_at<uint8_t>(bytes, index));
        case ElementType::boolean:
            return raw_at<uint8_t>(bytes, index) != 0 ? 1.0f : 0.0f;
    }
    return 0.0f;
}

std::vector<float> to_floats(Bytes bytes, ElementType type) {
    std::vector<float> values(bytes.size() / size_of(type));
    if (type == ElementType::f32) {
        if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
        return values;
    }
    for (size_t i = 0; i < values.size(); ++i) values[i] = element_at(bytes, type, i);
    return values;
}

std::optional<int64_t> checked_elements(const std::vector<int64_t>& shape) {
    int64_t elements = 1;
    for (const int64_t extent : shape)
        if (extent < 0 || __builtin_mul_overflow(elements, extent, &elements)) return std::nullopt;
    return elements;
}

}  // namespace pb::engine
