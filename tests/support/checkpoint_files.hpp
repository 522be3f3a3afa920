// Files of weights: what tests write and read back.
#pragma once

#include "base/atomic_file.hpp"
#include "engine/checkpoint/checkpoint_file.hpp"

#include "patchbench/engine/weights.hpp"

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>

namespace pb::engine {

inline Checkpoint load_checkpoint(const std::filesystem::path& file) {
    return read_checkpoint(read_file(file), file.string());
}

inline StateDict load_state_dict(const std::filesystem::path& file) { return load_checkpoint(file).tensors; }

/// In float32. `tensors` is not empty; keys and metadata need no escapes.
inline void save_safetensors(const StateDict& tensors, const std::filesystem::path& file,
                             const std::map<std::string, std::string>& metadata = {}) {
    std::ostringstream header;
    const char* before = "{";
    if (!metadata.empty()) {
        for (const auto& [key, value] : metadata)
            header << std::exchange(before, ",") << '"' << key << R"(":")" << value << '"';
        header.str(R"({"__metadata__":)" + header.str() + "}");
        header.seekp(0, std::ios::end);
    }
    size_t offset = 0;
    for (const auto& [key, tensor] : tensors) {
        header << std::exchange(before, ",") << '"' << key << R"(":{"dtype":"F32","shape":[)";
        for (size_t i = 0; i < tensor.shape.size(); ++i) header << (i == 0 ? "" : ",") << tensor.shape[i];
        header << R"(],"data_offsets":[)" << offset;
        offset += tensor.values.size() * sizeof(float);
        header << ',' << offset << "]}";
    }
    std::string text = header.str() + "}";
    text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the tensors are aligned in a mapped file
    std::array<std::byte, 8> length{};
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));
    AtomicFile out(file);
    out.append(length);
    out.append(std::as_bytes(std::span(text)));
    for (const auto& [key, tensor] : tensors) out.append(std::as_bytes(std::span(tensor.values)));
    out.commit();
}

}  // namespace pb::engine
