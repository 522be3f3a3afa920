#include "engine/checkpoint/readers.hpp"

#include "patchbench/base/error.hpp"

#include <algorithm>

namespace pb::engine {
StateDict without_module_prefix(StateDict tensors) {
    constexpr std::string_view kPrefix = "module.";
    const auto has_prefix = [&](const auto& item) { return item.first.starts_with(kPrefix); };
    constexpr int kMostPrefixes = 2;  // DataParallel round DistributedDataParallel
    for (int i = 0; i < kMostPrefixes && std::all_of(tensors.begin(), tensors.end(), has_prefix); ++i) {
        StateDict shorter;
        for (auto& [key, tensor] : tensors) shorter[key.substr(kPrefix.size())] = std::move(tensor);
        tensors = std::move(shorter);
    }
    return tensors;
}

namespace {

Checkpoint read_any(Bytes file, const std::string& name) {
    if (is_zip(file)) return read_zip_pth(file, name);
    if (is_legacy_pth(file)) return read_legacy_pth(file, name);
    if (is_safetensors(file)) return read_safetensors(file, name);
    throw UsageError(name + ": its first bytes are neither those of safetensors, nor of ONNX, nor of a .pth that " +
                     "torch.save wrote" + (file.empty() ? " (the file is empty)" : "") +
                     "; fetch or convert the file again");
}

}  // namespace

Checkpoint read_checkpoint(Bytes file, const std::string& name) {
    Checkpoint checkpoint = read_any(file, name);
    if (checkpoint.tensors.empty()) throw UsageError(name + ": holds no tensors");
    checkpoint.tensors = without_module_prefix(std::move(checkpoint.tensors));
    return checkpoint;
}

Checkpoint load_checkpoint(const std::filesystem::path& file) {
    return read_checkpoint(read_file(file), file.string());
}

StateDict load_state_dict(const std::filesystem::path& file) { return load_checkpoint(file).tensors; }

}  // namespace pb::engine
