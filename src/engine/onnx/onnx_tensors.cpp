#include "engine/onnx/onnx_tensors.hpp"

#include "base/text.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>

namespace pb::engine {

namespace fs = std::filesystem;

namespace {

std::string entry_of(const onnx::TensorProto& tensor, std::string_view key) {
    for (const auto& entry : tensor.external_data())
        if (entry.key() == key) return entry.value();
    return "";
}

/// `otherwise`: where the tensor does not say.
int64_t number_of(const onnx::TensorProto& tensor, std::string_view key, int64_t otherwise) {
    const std::string text = entry_of(tensor, key);
    if (text.empty()) return otherwise;
    int64_t number = 0;
    if (!read_number(text, number) || number < 0)
        throw UsageError(fmt::format("its {} in another file is {}, which is no number", key, shown(text)));
    return number;
}

/// A model may name no file outside its folder, by links neither.
fs::path file_of(const onnx::TensorProto& tensor, const fs::path& model) {
    const std::string location = entry_of(tensor, "location");
    if (location.empty()) throw UsageError("its values lie in another file, which it does not name");
    const fs::path folder = fs::weakly_canonical(fs::absolute(model).parent_path());
    std::error_code error;  // a name that is too long, links in a circle, a folder that cannot be searched
    fs::path file = fs::weakly_canonical(folder / location, error);
    if (error) throw UsageError(fmt::format("its values lie in {}: {}", shown(location), error.message()));
    const bool is_inside = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
    if (fs::path(location).is_absolute() || !is_inside)
        throw UsageError(fmt::format("its values lie in {}, which is outside the model's folder", shown(location)));
    if (!fs::is_regular_file(file, error))
        throw UsageError(fmt::format("its values lie in {}, which is not beside the model", shown(location)));
    return file;
}

bool is_external(const onnx::TensorProto& tensor) {
    return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

/// `num_bytes` of an external tensor.
std::vector<std::byte> read_external(const onnx::TensorProto& tensor, const fs::path& model, int64_t num_bytes) {
    const fs::path file = file_of(tensor, model);
    const auto size = static_cast<int64_t>(fs::file_size(file));
    const int64_t offset = number_of(tensor, "offset", 0), length = number_of(tensor, "length", num_bytes);
    if (length != num_bytes)
        throw UsageError(fmt::format("has {} bytes in another file, and its shape asks for {}", length, num_bytes));
    if (offset > size || num_bytes > size - offset)
        throw UsageError(fmt::format("its values end behind the end of {}: that is cut off, or of another model",
                                     shown(file.filename().string())));
    std::vector<std::byte> bytes(static_cast<size_t>(num_bytes));
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(offset);
    stream.read(reinterpret_cast<char*>(bytes.data()), num_bytes);
    if (!stream) throw UsageError(fmt::format("its values in {} cannot be read", shown(file.filename().string())));
    return bytes;
}

void add_external_files(const onnx::GraphProto& graph, const fs::path& model, std::set<fs::path>& files) {
    const auto add = [&](const onnx::TensorProto& tensor) {
        if (is_external(tensor)) files.insert(file_of(tensor, model));
    };
    for (const auto& tensor : graph.initializer()) add(tensor);
    for (const auto& node : graph.node())
        for (const auto& attribute : node.attribute()) {
            if (attribute.has_t()) add(attribute.t());
            for (const auto& tensor : attribute.tensors()) add(tensor);
            if (attribute.has_g()) add_external_files(attribute.g(), model, files);
            for (const auto& inner : attribute.graphs()) add_external_files(inner, model, files);
        }
}

using onnx::TensorProto;

std::optional<ElementType> element_type(int type) {
    switch (type) {
        case TensorProto::FLOAT: return ElementType::f32;
        case TensorProto::FLOAT16: return ElementType::f16;
        case TensorProto::BFLOAT16: return ElementType::bf16;
        case TensorProto::DOUBLE: return ElementType::f64;
        default: return std::nullopt;
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

std::set<fs::path> external_files(const onnx::GraphProto& graph, const fs::path& model) {
    std::set<fs::path> files;
    add_external_files(graph, model, files);
    return files;
}

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
