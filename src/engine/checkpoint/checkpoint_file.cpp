#include "engine/checkpoint/checkpoint_file.hpp"

#include "base/half.hpp"
#include "base/user_paths.hpp"

#include "patchbench/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>

namespace pb::engine {

namespace {

// Element `index` without conversion: the file and all supported machines are little-endian.
template <class T>
T raw_at(Bytes bytes, size_t index) {
    T value;
    std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
float number_at(Bytes bytes, size_t index) {
    return static_cast<float>(raw_at<T>(bytes, index));
}
float f16_at(Bytes bytes, size_t index) { return f16_value(raw_at<uint16_t>(bytes, index)); }
float bf16_at(Bytes bytes, size_t index) { return bf16_value(raw_at<uint16_t>(bytes, index)); }
float boolean_at(Bytes bytes, size_t index) { return raw_at<uint8_t>(bytes, index) != 0 ? 1.0f : 0.0f; }

struct TypeRow {
    ElementType type;
    size_t bytes;
    std::string_view safetensors;
    std::string_view storage;
    float (*element_at)(Bytes, size_t index);
};

constexpr std::array<TypeRow, 10> kTypes{{{ElementType::f64, 8, "F64", "DoubleStorage", number_at<double>},
                                          {ElementType::f32, 4, "F32", "FloatStorage", number_at<float>},
                                          {ElementType::f16, 2, "F16", "HalfStorage", f16_at},
                                          {ElementType::bf16, 2, "BF16", "BFloat16Storage", bf16_at},
                                          {ElementType::i64, 8, "I64", "LongStorage", number_at<int64_t>},
                                          {ElementType::i32, 4, "I32", "IntStorage", number_at<int32_t>},
                                          {ElementType::i16, 2, "I16", "ShortStorage", number_at<int16_t>},
                                          {ElementType::i8, 1, "I8", "CharStorage", number_at<int8_t>},
                                          {ElementType::u8, 1, "U8", "ByteStorage", number_at<uint8_t>},
                                          {ElementType::boolean, 1, "BOOL", "BoolStorage", boolean_at}}};

const TypeRow& row_of(ElementType type) { return kTypes.at(static_cast<size_t>(type)); }

std::optional<ElementType> find_type(std::string_view TypeRow::*column, std::string_view name) {
    const auto* const row = std::ranges::find(kTypes, name, column);
    return row == kTypes.end() ? std::nullopt : std::optional(row->type);
}

std::string without_wrappers(std::string_view key) {
    std::string rest;
    for (size_t dot = key.find('.'); dot != std::string_view::npos; dot = key.find('.')) {
        const std::string_view name = key.substr(0, dot + 1);
        if (name != "module." && name != "_orig_mod.") rest += name;
        key.remove_prefix(dot + 1);
    }
    return rest.append(key);
}

Checkpoint read_any(Bytes file, const std::string& name) {
    if (is_zip(file)) return read_zip_pth(file, name);
    if (is_legacy_pth(file)) return read_legacy_pth(file, name);
    if (is_safetensors(file)) return read_safetensors(file, name);
    throw UsageError(name + ": its first bytes are neither those of safetensors, nor of ONNX, nor of a .pth that " +
                     "torch.save wrote" + (file.empty() ? " (the file is empty)" : "") +
                     "; fetch or convert the file again");
}

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& file) {
    constexpr uintmax_t kLargest = uintmax_t{4} << 30;  // DRUNet in f64 with an optimiser's state is below 1 GiB
    std::error_code failed;
    if (!std::filesystem::is_regular_file(file, failed))
        throw UsageError("cannot read " + file.string() + ": " +
                         (std::filesystem::exists(file, failed) ? "not a regular file" : "no such file") +
                         "; name a .safetensors, .pth or .onnx file");
    const auto size = std::filesystem::file_size(file, failed);
    if (!failed && size > kLargest)
        throw UsageError(file.string() + " is larger than 4 GiB: no weights of these networks are");
    std::vector<std::byte> bytes(failed ? 0 : size);
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) require_descriptors(file);
    stream.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (failed || !stream)
        throw UsageError("cannot read " + file.string() + ": check the rights of the file and the disk");
    return bytes;
}

std::string shown(std::string_view text) {
    constexpr size_t kLongest = 80;
    std::string quoted = "'";
    for (const char c : text.substr(0, kLongest)) quoted += c >= ' ' && c <= '~' ? c : '?';
    return quoted + (text.size() > kLongest ? "...'" : "'");
}

Bytes ByteReader::take(uint64_t count) {
    if (count > left())
        fail(fmt::format("truncated or with lying sizes: {} bytes are announced, {} are left", count, left()));
    const Bytes taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
}

std::string_view ByteReader::take_text(uint64_t count) {
    const Bytes bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string_view ByteReader::take_line() {
    const Bytes rest = bytes_.subspan(position_);
    const auto newline = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (newline == rest.end()) fail("truncated: a line has no end");
    const std::string_view line = take_text(static_cast<uint64_t>(newline - rest.begin()));
    (void)take(1);
    return line;
}

void ByteReader::fail(const std::string& reason) const {
    throw UsageError(fmt::format("{}, byte {}: {}", name_, offset(), reason));
}

size_t size_of(ElementType type) { return row_of(type).bytes; }

std::optional<ElementType> find_safetensors_type(std::string_view name) {
    return find_type(&TypeRow::safetensors, name);
}

std::optional<ElementType> find_storage_type(std::string_view name) { return find_type(&TypeRow::storage, name); }

float element_at(Bytes bytes, ElementType type, size_t index) { return row_of(type).element_at(bytes, index); }

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

StateDict without_wrappers(StateDict&& tensors, const std::string& source) {
    StateDict shorter;
    std::map<std::string, std::string> keys;  // by what is left of them
    for (auto& [key, tensor] : tensors) {
        const auto [name, is_new] = keys.try_emplace(without_wrappers(key), key);
        if (!is_new)
            throw UsageError(source + ": " + shown(name->second) + " and " + shown(key) + " are both " +
                             shown(name->first) + " without what wrappers put into names; save one of the two " +
                             "networks alone");
        shorter[name->first] = std::move(tensor);
    }
    return shorter;
}

Checkpoint read_checkpoint(Bytes file, const std::string& name) {
    Checkpoint checkpoint = read_any(file, name);
    if (checkpoint.tensors.empty()) throw UsageError(name + ": holds no tensors");
    checkpoint.tensors = without_wrappers(std::move(checkpoint.tensors), name);
    return checkpoint;
}

}  // namespace pb::engine
