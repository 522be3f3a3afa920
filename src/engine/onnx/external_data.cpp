#include "engine/onnx/external_data.hpp"

#include "engine/checkpoint/byte_reader.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
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
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0)
        throw UsageError(fmt::format("its {} in another file is {}, which is no number", key, shown(text)));
    return number;
}

/// A model may name no file outside its folder, by links neither.
fs::path file_of(const onnx::TensorProto& tensor, const fs::path& model) {
    const std::string location = entry_of(tensor, "location");
    if (location.empty()) throw UsageError("its values lie in another file, which it does not name");
    const fs::path folder = fs::weakly_canonical(fs::absolute(model).parent_path());
    fs::path file = fs::weakly_canonical(folder / location);
    const bool is_inside = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end()).first == folder.end();
    if (fs::path(location).is_absolute() || !is_inside)
        throw UsageError(fmt::format("its values lie in {}, which is outside the model's folder", shown(location)));
    if (!fs::is_regular_file(file))
        throw UsageError(fmt::format("its values lie in {}, which is not beside the model", shown(location)));
    return file;
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

}  // namespace

bool is_external(const onnx::TensorProto& tensor) {
    return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0;
}

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

std::set<fs::path> external_files(const onnx::GraphProto& graph, const fs::path& model) {
    std::set<fs::path> files;
    add_external_files(graph, model, files);
    return files;
}

}  // namespace pb::engine
