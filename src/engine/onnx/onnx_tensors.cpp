#include "engine/onnx/onnx_tensors.hpp"

#include "engine/checkpoint/element_type.hpp"
#include "engine/onnx/external_data.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

namespace pb::engine {
namespace {

using onnx::TensorProto;

std::optional<ElementType> element_type(int type) {
    switch (type) {
        case TensorProto::FLOAT:
            return ElementType::f32;
        case TensorProto::FLOAT16:
            return ElementType::f16;
        case TensorProto::BFLOAT16:
            return ElementType::bf16;
        case TensorProto::DOUBLE:
            return ElementType::f64;
        default:
            return std::nullopt;
    }
}

/// Reads a tensor without raw bytes from its typed fields; 16-bit values are stored in integers.
std::vector<float> typed_values(const TensorProto& tensor, ElementType type) {
    std::vector<float> values;
    if (type == ElementType::f32) values.assign(tensor.float_data().begin(), tensor.float_data().end());
    if (type == ElementType::f64)
        for (const double value : tensor.double_data()) values.push_back(static_cast<float>(value));
    if (size_of(type) == sizeof(uint16_t))
        for (const int32_t word : tensor.int32_data()) {
            const auto bits = static_cast<uint16_t>(word);
            values.push_back(element_at(std::as_bytes(std::span(&bits, 1)), type, 0));
        }
    return values;
}

}  // namespace

void OnnxTensors::fail(const std::string& name, const std::string& reason) const {
    throw UsageError(fmt::format("{}, tensor {}: {}", file_, shown(name), reason));
}

void OnnxTensors::add(const std::string& name, const TensorProto& tensor) {
    const auto type = element_type(tensor.data_type());
    if (!type) return;  // sizes and indices; an operation that needs one reports it as missing
    NamedTensor read{{tensor.dims().begin(), tensor.dims().end()}, {}};
    const auto elements = checked_elements(read.shape);
    if (!elements) fail(name, "its shape is not one");
    if (is_external(tensor)) {
        read.values = to_floats(external_bytes(name, tensor, *elements * static_cast<int64_t>(size_of(*type))), *type);
    } else if (tensor.has_raw_data()) {
        const Bytes bytes = std::as_bytes(std::span(tensor.raw_data()));
        if (bytes.size() % size_of(*type) != 0) fail(name, fmt::format("{} bytes are no whole elements", bytes.size()));
        read.values = to_floats(bytes, *type);
    } else {
        read.values = typed_values(tensor, *type);
    }
    if (static_cast<int64_t>(read.values.size()) != *elements)
        fail(name, fmt::format("has {} values, and its shape asks for {}", read.values.size(), *elements));
    const auto wrong = std::ranges::find_if(read.values, [](float value) { return !std::isfinite(value); });
    if (wrong != read.values.end())
        fail(name,
             fmt::format("element {} is not a finite number; the training of these weights went wrong, or the file did",
                         wrong - read.values.begin()));
    if (!tensors_.emplace(name, std::make_shared<const NamedTensor>(std::move(read))).second)
        fail(name, "is there twice");
}

std::vector<std::byte> OnnxTensors::external_bytes(const std::string& name, const TensorProto& tensor,
                                                   int64_t num_bytes) {
    try {
        std::vector<std::byte> bytes = read_external(tensor, file_, num_bytes);
        num_external_bytes_ += bytes.size();
        return bytes;
    } catch (const UsageError& error) {
        fail(name, error.what());
    }
}

void OnnxTensors::add_alias(const std::string& alias, const std::string& name) {
    (void)find(name);
    if (!tensors_.emplace(alias, tensors_.at(name)).second) fail(alias, "is there twice");
}

const NamedTensor& OnnxTensors::find(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) fail(name, "is no constant of floating type in this file");
    return *found->second;
}

}  // namespace pb::engine
