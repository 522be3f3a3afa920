#include "engine/torch/cuda_backend.hpp"
#include "engine/torch/torch_denoiser.hpp"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl_version.h>
#include <torch/headeronly/version.h>

#include <utility>

namespace pb::torch_engine {

namespace {

/// The word of digits and dots that follows `mark` in `text`; empty when there is none.
std::string version_after(const std::string& text, const std::string& mark) {
    const size_t at = text.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = at + mark.size();
    return text.substr(begin, text.find_first_not_of("0123456789.", begin) - begin);
}

std::string dotted(int major, int minor, int patch) { return fmt::format("{}.{}.{}", major, minor, patch); }

}  // namespace

std::vector<LibraryVersion> torch_versions() {
    std::vector<LibraryVersion> versions{
        {"libtorch", dotted(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, TORCH_VERSION_PATCH),
         version_after(at::show_config(), "TORCH_VERSION=")},
        {"onednn", dotted(DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH),
         version_after(at::get_mkldnn_version(), "MKL-DNN v")}};
    for (auto& version : cudnn_versions()) versions.push_back(std::move(version));
    return versions;
}

}  // namespace pb::torch_engine
