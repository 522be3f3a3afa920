#include "base/atomic_file.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/state_dict.hpp"

#include <nlohmann/json.hpp>

namespace pb {

void save_safetensors(const StateDict& tensors, const std::filesystem::path& file,
                      const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    size_t offset = 0;
    for (const auto& [key, tensor] : tensors) {
        const size_t end = offset + tensor.values.size() * sizeof(float);
        header[key] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
        offset = end;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the tensors are aligned in a mapped file
    std::array<std::byte, 8> length{};
    for (size_t i = 0; i < length.size(); ++i) length[i] = static_cast<std::byte>(text.size() >> (8 * i));
    AtomicFile out(file);
    out.append(length);
    out.append(std::as_bytes(std::span(text)));
    for (const auto& [key, tensor] : tensors) out.append(std::as_bytes(std::span(tensor.values)));
    out.commit();
}

}  // namespace pb
