#include "engine/checkpoint/readers.hpp"

#include "patchbench/base/error.hpp"

namespace pb::engine {
namespace {

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
