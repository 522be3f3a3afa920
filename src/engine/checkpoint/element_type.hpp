// Element types that checkpoints hold, and their conversion to float.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pb::engine {

enum class ElementType : uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

[[nodiscard]] size_t size_of(ElementType type);

/// `F32`, `BF16`, `I64`, ... as in a safetensors header.
[[nodiscard]] std::optional<ElementType> find_safetensors_type(std::string_view name);

/// `FloatStorage`, `HalfStorage`, ... of the Python module `torch`.
[[nodiscard]] std::optional<ElementType> find_storage_type(std::string_view name);

/// Element `index` of little-endian `bytes`, at any alignment; rounded to nearest when float is narrower.
[[nodiscard]] float element_at(Bytes bytes, ElementType type, size_t index);

/// All elements of `bytes`.
[[nodiscard]] std::vector<float> to_floats(Bytes bytes, ElementType type);

/// The product of `shape`; nullopt when an extent is negative or the product does not fit.
[[nodiscard]] std::optional<int64_t> checked_elements(const std::vector<int64_t>& shape);

}  // namespace pb::engine
